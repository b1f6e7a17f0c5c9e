// docs/disttraining.md contains the field table between two marker lines. The test compares it with the parser's table;
// with ESPALIER_UPDATE_DOCS=1 it updates the page instead.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "services/job/fields/field_table.h"

namespace espalier::job {
namespace {

constexpr const char* kDocument = ESPALIER_SOURCE_DIR "/docs/disttraining.md";
constexpr const char* kBegin = "<!-- fields: begin (made from services/job/fields/field_table*.cc) -->\n";
constexpr const char* kEnd = "<!-- fields: end -->\n";

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? std::string("\\|") : std::string(1, c);
  return escaped;
}

std::string DefaultOf(const FieldSpec& field) {
  if (field.required) return "required";
  return field.default_json.empty() ? "" : "`" + field.default_json + "`";
}

std::string TypeOf(const FieldSpec& field) { return DescribeExpected(field); }

std::string MeaningOf(const FieldSpec& field) {
  return field.availability == Availability::kClusterOnly ? field.meaning + " (cluster only)" : field.meaning;
}

// The fields that all roles share are printed once.
std::string MarkdownTable() {
  std::string table = "| path | type and range | default | meaning |\n|---|---|---|---|\n";
  std::vector<FieldSpec> shared;
  AppendRoleFields("spec.<role>", &shared);
  std::vector<FieldSpec> of_roles;
  for (const char* role : {"partitioner", "servers", "samplers", "trainers"}) {
    AppendRoleFields(std::string("spec.") + role, &of_roles);
  }
  const auto is_shared = [&](const FieldSpec& field) {
    return std::any_of(of_roles.begin(), of_roles.end(), [&](const FieldSpec& f) { return f.path == field.path; });
  };
  std::vector<FieldSpec> rows;
  for (const FieldSpec& field : FieldTable()) {
    if (!is_shared(field)) rows.push_back(field);
  }
  rows.insert(rows.end(), shared.begin(), shared.end());
  for (const FieldSpec& field : rows) {
    table += "| `" + field.path + "` | " + Escaped(TypeOf(field)) + " | " + DefaultOf(field) + " | " +
             Escaped(MeaningOf(field)) + " |\n";
  }
  return table;
}

TEST(FieldDocsTest, DocumentedTableMatchesParser) {
  std::ifstream file(kDocument);
  ASSERT_TRUE(file) << kDocument;
  std::ostringstream stream;
  stream << file.rdbuf();
  std::string text = stream.str();
  const size_t begin = text.find(kBegin);
  const size_t end = text.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const size_t table_at = begin + std::string(kBegin).size();

  if (std::getenv("ESPALIER_UPDATE_DOCS") != nullptr) {
    text.replace(table_at, end - table_at, MarkdownTable());
    std::ofstream(kDocument) << text;
  } else {
    EXPECT_EQ(text.substr(table_at, end - table_at), MarkdownTable())
        << "run this test with ESPALIER_UPDATE_DOCS=1 and commit the page";
  }
}

TEST(FieldTableTest, EveryFieldHasAMeaningAndAnObject) {
  std::vector<std::string> objects = {""};
  for (const FieldSpec& field : FieldTable()) {
    EXPECT_NE(field.meaning, "") << field.path;
    const size_t dot = field.path.rfind('.');
    const std::string object = dot == std::string::npos ? "" : field.path.substr(0, dot);
    EXPECT_NE(std::find(objects.begin(), objects.end(), object), objects.end()) << field.path << " before " << object;
    if (field.type == FieldType::kObject) objects.push_back(field.path + (field.is_list ? "[]" : ""));
    EXPECT_EQ(field.type == FieldType::kEnum, !field.values.empty()) << field.path;
    EXPECT_TRUE(!field.is_list || field.maximum_items > 0) << field.path;
  }
}

}  // namespace
}  // namespace espalier::job
