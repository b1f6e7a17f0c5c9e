// Tests that the schema has exactly the fields of the field table, with their descriptions, limits and defaults.
#include "operator/schema/field_schema.h"

#include <gtest/gtest.h>

#include <functional>

#include "operator/schema/crd.h"
#include "services/job/fields/field_table.h"

namespace espalier::ctl::schema {
namespace {

OrderedJson WholeSchema() { return Crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]; }

// Calls `visit` for the schema and all schemas in it, with their paths.
void Walk(const OrderedJson& schema, const std::string& path,
          const std::function<void(const OrderedJson&, const std::string&)>& visit) {
  visit(schema, path);
  if (schema.contains("items")) Walk(schema["items"], path + "[]", visit);
  if (schema.contains("additionalProperties")) Walk(schema["additionalProperties"], path + "{}", visit);
  if (!schema.contains("properties")) return;
  for (const auto& [name, field] : schema["properties"].items()) {
    Walk(field, path.empty() ? name : path + "." + name, visit);
  }
}

TEST(FieldSchemaTest, HasExactlyFieldsOfTable) {
  OrderedJson schema = DocumentSchema();
  size_t in_table = 0;
  for (const job::FieldSpec& field : job::FieldTable()) {
    if (!field.path.starts_with("spec")) continue;
    ++in_table;
    const OrderedJson* found = FindField(&schema, field.path);
    ASSERT_NE(found, nullptr) << field.path;
    EXPECT_TRUE((*found)["description"].get<std::string>().starts_with(field.meaning)) << field.path;
    const size_t dot = field.path.rfind('.');
    if (dot == std::string::npos) continue;
    const OrderedJson* object = FindField(&schema, field.path.substr(0, dot));
    bool is_required = false;
    for (const auto& name : object->value("required", OrderedJson::array())) {
      is_required = is_required || name == field.path.substr(dot + 1);
    }
    EXPECT_EQ(is_required, field.required) << field.path;
  }
  size_t in_schema = 0;
  Walk(schema["properties"]["spec"], "spec",
       [&](const OrderedJson& one, const std::string&) { in_schema += one.contains("description"); });
  EXPECT_EQ(in_schema, in_table);
}

// Descriptions contain ranges and defaults, because `kubectl explain` does not print those of a schema.
TEST(FieldSchemaTest, DescriptionsHaveRangesAndDefaults) {
  OrderedJson schema = DocumentSchema();
  const auto description_of = [&](const char* path) {
    return FindField(&schema, path)->at("description").get<std::string>();
  };
  EXPECT_NE(description_of("spec.runPolicy.backoffLimit").find("integer from 0 to "), std::string::npos);
  EXPECT_TRUE(description_of("spec.runPolicy.backoffLimit").ends_with("; default 3)"));
  EXPECT_NE(description_of("spec.graph.source.uri").find("; required)"), std::string::npos);
  EXPECT_NE(description_of("spec.runPolicy.cleanPodPolicy").find("Running"), std::string::npos);
  int ranges = 0, defaults = 0;
  Walk(schema["properties"]["spec"], "spec", [&](const OrderedJson& one, const std::string& path) {
    const std::string description = one.value("description", "");
    if (one.contains("maximum") && !description.empty()) {
      ++ranges;
      EXPECT_NE(description.find(" to "), std::string::npos) << path << ": " << description;
    }
    if (one.contains("default") && !one.at("default").is_object()) {
      ++defaults;
      EXPECT_NE(description.find("default " + one.at("default").dump()), std::string::npos) << path;
    }
  });
  EXPECT_GT(ranges, 20);
  EXPECT_GT(defaults, 30);
}

TEST(FieldSchemaTest, EverythingIsBounded) {
  Walk(WholeSchema(), "", [](const OrderedJson& schema, const std::string& path) {
    const bool is_header = path == "apiVersion" || path == "kind" || path.starts_with("metadata");
    const bool is_status = path.starts_with("status");
    const std::string type = schema.value("type", "");
    if (schema.contains("x-kubernetes-int-or-string")) {
      EXPECT_TRUE(schema.contains("maxLength")) << path;
    } else if (type == "string" && !is_header) {
      EXPECT_TRUE(schema.contains("maxLength") || schema.contains("enum") || schema.contains("format")) << path;
    } else if (type == "array") {
      EXPECT_TRUE(schema.contains("maxItems") && schema.contains("x-kubernetes-list-type")) << path;
    } else if (type == "object" && schema.contains("additionalProperties")) {
      EXPECT_TRUE(schema.contains("maxProperties")) << path;
    } else if ((type == "integer" || type == "number") && !is_status) {
      EXPECT_TRUE(schema.contains("minimum")) << path;
      EXPECT_TRUE(schema.contains("maximum") || schema.value("format", "") == "int64") << path;
    } else {
      EXPECT_NE(type, "") << path;
    }
  });
}

TEST(FieldSchemaTest, ListsHaveMergeStrategy) {
  OrderedJson schema = DocumentSchema();
  const auto type_of = [&](const char* path) {
    const OrderedJson* found = FindField(&schema, path);
    return found == nullptr ? "" : found->value("x-kubernetes-list-type", "");
  };
  EXPECT_EQ(type_of("spec.trainers.env"), "map");
  EXPECT_EQ(type_of("spec.training.sampling.layers[].edgeTypes"), "map");
  EXPECT_EQ(type_of("spec.training.sampling.layers"), "atomic");
  EXPECT_EQ(type_of("spec.training.inputs"), "atomic");             // its key nodeType is optional
  EXPECT_EQ(type_of("spec.training.inputs[].features"), "atomic");  // ordered
  EXPECT_EQ(type_of("spec.output.save"), "set");
  EXPECT_EQ(*FindField(&schema, "spec.trainers.env")->find("x-kubernetes-list-map-keys"), OrderedJson({"name"}));
}

TEST(FieldSchemaTest, AnObjectWithDefaultsIsItselfADefault) {
  OrderedJson schema = DocumentSchema();
  EXPECT_EQ((*FindField(&schema, "spec.servers"))["default"],
            OrderedJson({{"replicasPerPartition", 1}, {"containersPerPod", 1}, {"cacheMedium", "Disk"}}));
  EXPECT_FALSE(FindField(&schema, "spec.trainers.resources")->contains("default"));  // its fields have no defaults
  EXPECT_FALSE(FindField(&schema, "spec.training.task")->contains("default"));       // required
  EXPECT_FALSE(FindField(&schema, "spec.tls")->contains("default"));  // the default depends on where the job runs
}

TEST(FieldSchemaTest, ReturnsNothingForUnknownPath) {
  OrderedJson schema = DocumentSchema();
  for (const char* path : {"nothing", "spec.nothing", "spec.graph.source.uri.x", "spec.graph[].source"}) {
    EXPECT_EQ(FindField(&schema, path), nullptr) << path;
  }
}

}  // namespace
}  // namespace espalier::ctl::schema
