// Tests crds/ on the real API server: the definition installs, and documents are accepted, defaulted and refused as by
// the operator's own validator (operator/schema/documents_test.cc uses the same files). Generated documents violate the
// same rules in CEL and in the parser (services/job/rules/document_rules.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "operator/api/dist_training.h"
#include "operator/kube/condition.h"
#include "operator/schema/testing/documents.h"
#include "operator/tests/crd_server.h"
#include "services/job/testing/rule_cases.h"

namespace espalier::ctl {
namespace {

using kube::Json;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

class CrdLiveTest : public testing::Test {
 protected:
  void SetUp() override {
    server_ = SharedCrdServer();
    ASSERT_NE(server_, nullptr);
  }
  CrdServer* server_ = nullptr;
};

Json DocumentOf(const Json& object) {
  const Result<api::DistTraining> training = api::ParseDistTraining(object);
  EXPECT_TRUE(training.ok()) << training.status().ToString();
  if (!training.ok() || !training->spec.has_value()) {
    ADD_FAILURE() << (training.ok() ? training->violations : "");
    return {};
  }
  return training->spec->document;
}

TEST_F(CrdLiveTest, InstallsByClientSideAndByServerSideApply) {
  EXPECT_EQ(server_->created().code, 201) << server_->created().message();
  EXPECT_EQ(server_->applied().code, 200) << server_->applied().message();
  EXPECT_TRUE(kube::IsConditionTrue(server_->definition(), "NamesAccepted"));
  EXPECT_FALSE(kube::IsConditionTrue(server_->definition(), "NonStructuralSchema"));
}

TEST_F(CrdLiveTest, AcceptsAndDefaultsValidDocumentsLikeParser) {
  for (const char* folder : {"crds/examples", "crds/tests/valid"}) {
    for (const schema::TestDocument& document : schema::DocumentsIn(folder)) {
      const CrdServer::Answer answer = server_->DryCreate(document.object);
      ASSERT_EQ(answer.code, 201) << document.name << ": " << answer.message();
      EXPECT_EQ(DocumentOf(answer.body), DocumentOf(document.object)) << document.name;
    }
  }
}

TEST_F(CrdLiveTest, StoresDocumentsUnchanged) {
  Json job = MinimalJob("stored");
  job["spec"]["trainers"]["template"] = {{"spec", {{"hostAliases", {{{"ip", "10.0.0.1"}}}}, {"unheardOf", true}}}};
  ASSERT_EQ(server_->Create(job).code, 201);
  EXPECT_EQ(server_->Get("stored").body["spec"]["trainers"]["template"], job["spec"]["trainers"]["template"]);
}

// A template may hold any JSON. Other jobs must not suffer from it.
TEST_F(CrdLiveTest, TooDeepJobDoesNotAffectOthers) {
  Json deep = 1;
  for (int level = 0; level < 200; ++level) deep = Json{{"a", std::move(deep)}};
  Json job = MinimalJob("deep");
  job["spec"]["trainers"]["template"]["spec"]["deep"] = std::move(deep);
  ASSERT_EQ(server_->Create(MinimalJob("beside")).code, 201);
  const CrdServer::Answer created = server_->Create(job);
  ASSERT_EQ(created.code, 201) << created.message();
  const std::string list = server_->Send(kube::ListRequest(kube::kDistTrainings, {})).message();  // too deep to parse
  const Result<Json> read = kube::ParseObjects(list, kube::ObjectsIn::kList);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  std::vector<std::string> unreadable;
  std::string uid;
  for (const Json& item : kube::ListAt(*read, {"items"})) {
    if (!kube::NestsTooDeep(item)) continue;
    unreadable.push_back(kube::StringAt(item, {"metadata", "name"}));
    uid = kube::StringAt(item, {"metadata", "uid"});
  }
  EXPECT_GE(kube::ListAt(*read, {"items"}).size(), 2u);
  EXPECT_THAT(unreadable, ElementsAre("deep"));
  EXPECT_EQ(server_->Delete("deep", uid).code, 200);
}

TEST_F(CrdLiveTest, RefusesInvalidDocumentsWithFieldAndReason) {
  for (const schema::TestDocument& document : schema::DocumentsIn("crds/tests/invalid")) {
    const CrdServer::Answer answer = server_->DryCreate(document.object);
    EXPECT_TRUE(answer.code == 422 || answer.code == 400) << document.name << ": " << answer.code;
    EXPECT_THAT(answer.message(), HasSubstr(document.expected_path)) << document.name;
    EXPECT_THAT(answer.message(), HasSubstr(document.expected_words)) << document.name;
  }
}

// Returns the fields and messages of the rules that the server's response names, sorted: "spec.tls.mode: ...". The
// server writes the reason before the message of a rule ("Required value: ", "Invalid value: ...: ").
std::vector<std::string> ViolatedRules(const CrdServer::Answer& answer) {
  std::set<std::string> violated;
  for (const Json& cause : kube::ListAt(answer.body, {"details", "causes"})) {
    const std::string message = kube::StringAt(cause, {"message"});
    std::string rule = "?: " + message;  // no rule of the table
    for (const job::Rule& one : job::DocumentRules()) {
      if (message.ends_with(": " + one.message)) rule = one.message;
    }
    violated.insert(kube::StringAt(cause, {"field"}) + ": " + rule);
  }
  return {violated.begin(), violated.end()};
}

TEST_F(CrdLiveTest, RulesInCelAndInTheParserAgreeOnGeneratedDocuments) {
  for (const job::RuleCase& one : job::MakeRuleCases()) {
    std::set<std::string> expected;
    for (const job::RuleViolation& violation : one.violations) {
      if (violation.rule->cel.empty()) continue;
      expected.insert(violation.PathInCel() + ": " + violation.rule->message);
    }
    const CrdServer::Answer answer = server_->DryCreate(Json::parse(one.document.dump()));
    EXPECT_EQ(answer.code, expected.empty() ? 201 : 422) << one.name << ": " << answer.message();
    EXPECT_THAT(ViolatedRules(answer), ElementsAreArray(expected)) << one.name;
  }
}

TEST_F(CrdLiveTest, AcceptsDocumentsThatOnlyOperatorRefuses) {
  for (const schema::TestDocument& document : schema::DocumentsIn("crds/tests/not-accepted")) {
    const CrdServer::Answer answer = server_->DryCreate(document.object);
    EXPECT_EQ(answer.code, 201) << document.name << ": " << answer.message();
  }
}

TEST_F(CrdLiveTest, ServesPrinterColumns) {
  ASSERT_EQ(server_->Create(MinimalJob("in-a-table")).code, 201);
  kube::HttpRequest request = kube::GetRequest(kube::kDistTrainings, {"default", "in-a-table"});
  std::erase_if(request.headers, [](const auto& header) { return header.first == "Accept"; });
  request.headers.emplace_back("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io");

  const CrdServer::Answer table = server_->Send(request);

  ASSERT_EQ(table.code, 200) << table.message();
  std::vector<std::string> columns;
  for (const Json& column : kube::ListAt(table.body, {"columnDefinitions"})) {
    if (kube::IntegerAt(column, {"priority"}).value_or(0) == 0) columns.push_back(kube::StringAt(column, {"name"}));
  }
  EXPECT_THAT(columns, ElementsAre("Name", "Phase", "Epoch", "Progress", "Trainers", "Restarts", "Age"));
}

}  // namespace
}  // namespace espalier::ctl
