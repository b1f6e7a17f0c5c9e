// Tests the validator of the operator and of `espalier run` with the documents of crds/examples and crds/tests.
// operator/tests/crd_live_test.cc applies the same documents to an API server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "operator/api/dist_training.h"
#include "operator/schema/rules.h"
#include "operator/schema/testing/documents.h"
#include "services/job/parsing/parse.h"
#include "services/job/rules/document_rules.h"

namespace espalier::ctl::schema {
namespace {

using testing::HasSubstr;

// Removes quotes: the validator quotes names from the document, an API server does not.
std::string WithoutQuotes(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '\''), text.end());
  return text;
}

// Returns true if a line is about this field or a part of it.
bool NamesField(const std::string& violations, const std::string& path) {
  std::istringstream lines(WithoutQuotes(violations));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(path) && std::string_view(":.[").find(line[path.size()]) != std::string_view::npos)
      return true;
  }
  return false;
}

std::string ViolationsOf(const TestDocument& document) {
  const Result<api::DistTraining> training = api::ParseDistTraining(document.object);
  EXPECT_TRUE(training.ok()) << document.name << ": " << training.status().ToString();
  if (!training.ok()) return "";
  EXPECT_EQ(training->spec.has_value(), training->violations.empty()) << document.name;
  return training->violations;
}

TEST(CrdDocumentsTest, ExamplesAndValidOnesRunOnClustersAndLaptops) {
  for (const char* folder : {"crds/examples", "crds/tests/valid"}) {
    for (const TestDocument& document : DocumentsIn(folder)) {
      EXPECT_EQ(ViolationsOf(document), "") << document.name;
      const Result<job::ParsedJob> on_laptop =
          job::ParseJob(document.name, document.text, {}, job::ReadBy::kRunOrRole, job::SpecTraining::kUnlessProgram);
      EXPECT_TRUE(on_laptop.ok()) << on_laptop.status().ToString();
    }
  }
}

// Returns true if the words are those of a rule that the parser evaluates with the same message.
bool AreOfADocumentRule(const std::string& words) {
  const std::vector<job::Rule>& rules = job::DocumentRules();
  return std::any_of(rules.begin(), rules.end(),
                     [&](const job::Rule& rule) { return rule.message.find(words) != std::string::npos; });
}

TEST(CrdDocumentsTest, ValidatorRefusesSameFieldsAsApiServer) {
  for (const TestDocument& document : DocumentsIn("crds/tests/invalid")) {
    ASSERT_NE(document.expected_path, "") << document.name;
    const std::string violations = ViolationsOf(document);
    EXPECT_TRUE(NamesField(violations, document.expected_path)) << document.name << "\n" << violations;
    if (!AreOfADocumentRule(document.expected_words)) continue;
    EXPECT_THAT(violations, HasSubstr(document.expected_words)) << document.name;
  }
}

TEST(CrdDocumentsTest, OperatorRefusesOtherInvalidDocuments) {
  for (const TestDocument& document : DocumentsIn("crds/tests/not-accepted")) {
    ASSERT_NE(document.expected_path, "") << document.name;
    const std::string violations = ViolationsOf(document);
    EXPECT_TRUE(NamesField(violations, document.expected_path)) << document.name << "\n" << violations;
    EXPECT_THAT(violations, HasSubstr(document.expected_words)) << document.name;
  }
}

TEST(CrdDocumentsTest, EveryRuleHasADocumentThatBreaksIt) {
  const std::vector<TestDocument> documents = DocumentsIn("crds/tests/invalid");
  std::vector<Rule> rules = RelationRules();
  for (const Rule& rule : FieldRules()) rules.push_back(rule);
  for (const Rule& rule : rules) {
    EXPECT_TRUE(std::any_of(
        documents.begin(), documents.end(),
        [&](const TestDocument& document) { return rule.message.find(document.expected_words) != std::string::npos; }))
        << rule.at << ": " << rule.message;
  }
}

}  // namespace
}  // namespace espalier::ctl::schema
