// Tests that the schema, the parser and the documentation have the same defaults, for each field and for whole
// documents.
#include <gtest/gtest.h>

#include "operator/client/yaml_json.h"
#include "operator/schema/field_schema.h"
#include "operator/schema/testing/documents.h"
#include "services/job/fields/field_table.h"
#include "services/job/parsing/parse.h"

namespace espalier::ctl::schema {
namespace {

using job::FieldSpec;
using kube::Json;

bool IsInSchema(const FieldSpec& field) { return field.path.starts_with("spec"); }

Json SchemaToReadFrom() { return Json::parse(DocumentSchema().dump()); }

// Fills in defaults like an API server: in objects that are present, and in objects that are defaults themselves.
void FillIn(const Json& schema, Json* value) {
  if (value->is_array() && schema.contains("items")) {
    for (Json& item : *value) FillIn(schema.at("items"), &item);
  }
  if (!value->is_object() || !schema.contains("properties")) return;
  for (const auto& [name, field] : schema.at("properties").items()) {
    if (!value->contains(name) && field.contains("default")) (*value)[name] = field.at("default");
    if (value->contains(name)) FillIn(field, &value->at(name));
  }
}

Json EffectiveOnCluster(const std::string& text) {
  const Result<job::ParsedJob> parsed =
      job::ParseJob("", text, {}, job::ReadBy::kOperator, job::SpecTraining::kUnlessProgram);
  EXPECT_TRUE(parsed.ok()) << parsed.status().ToString() << "\n" << text;
  return Json::parse(parsed.ok() ? parsed->effective_json : "{}");
}

TEST(DefaultsTest, EveryFieldHasTheSameDefaultInSchemaTableAndDocumentation) {
  OrderedJson schema = DocumentSchema();
  const std::string page = ReadFileOrFail("docs/disttraining.md");
  int with_default = 0;
  for (const FieldSpec& field : job::FieldTable()) {
    if (!IsInSchema(field) || field.default_json.empty()) continue;
    ++with_default;
    const OrderedJson* found = FindField(&schema, field.path);
    ASSERT_NE(found, nullptr) << field.path;
    EXPECT_EQ(found->at("default").dump(), field.default_json) << field.path;
    const size_t row = page.find("| `" + field.path + "` |");
    ASSERT_NE(row, std::string::npos) << field.path;
    const std::string line = page.substr(row, page.find('\n', row) - row);
    EXPECT_NE(line.find("| `" + field.default_json + "` |"), std::string::npos) << line;
  }
  EXPECT_GT(with_default, 30);
}

TEST(DefaultsTest, DefaultedDocumentParsesToSameValue) {
  const Json schema = SchemaToReadFrom();
  for (const char* folder : {"crds/examples", "crds/tests/valid"}) {
    for (const TestDocument& document : DocumentsIn(folder)) {
      Json defaulted = document.object;
      FillIn(schema, &defaulted);
      EXPECT_EQ(EffectiveOnCluster(defaulted.dump()), EffectiveOnCluster(document.text)) << document.name;
    }
  }
}

TEST(DefaultsTest, SchemaHasAllIndependentDefaults) {
  const std::string minimal = ReadFileOrFail("crds/examples/minimal.yaml");
  Json defaulted = *client::ParseYamlOrJson(minimal);
  FillIn(SchemaToReadFrom(), &defaulted);
  Json effective = EffectiveOnCluster(minimal);
  EXPECT_EQ(effective["spec"]["tls"], Json({{"mode", "Managed"}}));
  effective["spec"].erase("tls");
  EXPECT_EQ(effective["spec"]["training"]["evaluation"].erase("metric"), 1u);
  EXPECT_EQ(effective["spec"]["checkpoint"].erase("every"), 1u);
  EXPECT_EQ(defaulted, effective);
}

}  // namespace
}  // namespace espalier::ctl::schema
