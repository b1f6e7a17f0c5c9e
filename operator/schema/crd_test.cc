#include "operator/schema/crd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/api/testing/full_status.h"
#include "operator/client/yaml_json.h"
#include "operator/schema/testing/documents.h"

namespace espalier::ctl::schema {
namespace {

constexpr char kCheckedIn[] = "crds/disttrainings.yaml";

OrderedJson Version() { return Crd()["spec"]["versions"][0]; }

TEST(CrdTest, CheckedInFileMatchesOutput) {
  EXPECT_EQ(ReadFileOrFail(kCheckedIn), CrdYaml()) << "regenerate it: espalier-crd > " << kCheckedIn;
}

TEST(CrdTest, FileParsesToSameValue) {
  const Result<kube::Json> read = client::ParseYamlOrJson(ReadFileOrFail(kCheckedIn));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(*read, kube::Json::parse(Crd().dump()));
}

// Client-side apply of kubectl stores the whole object in an annotation, and all annotations may have 262,144 bytes.
TEST(CrdTest, FitsLastAppliedAnnotation) {
  EXPECT_LT(Crd().dump().size(), 200'000u);
  EXPECT_LT(CrdYaml().size(), 200'000u);
}

TEST(CrdTest, ColumnsAndScaleReadFieldsThatExist) {
  OrderedJson version = Version();
  OrderedJson& schema = version["schema"]["openAPIV3Schema"];
  std::vector<std::string> paths;
  for (const auto& column : version["additionalPrinterColumns"]) paths.push_back(column["jsonPath"]);
  for (const auto& [name, path] : version["subresources"]["scale"].items()) paths.push_back(path);
  for (const std::string& path : paths) {
    if (path == ".metadata.creationTimestamp") continue;
    if (path.starts_with(".status.replicaStatuses.")) {  // a map by role
      const OrderedJson* role = FindField(&schema, "status.replicaStatuses");
      ASSERT_NE(role, nullptr);
      const std::string field = path.substr(path.rfind('.') + 1);
      EXPECT_TRUE((*role)["additionalProperties"]["properties"].contains(field)) << path;
      continue;
    }
    EXPECT_NE(FindField(&schema, path.substr(1)), nullptr) << path;
  }
}

// Checks that the schema has all fields of the value. An API server drops other fields.
void ExpectKnown(const kube::Json& value, const OrderedJson& schema, const std::string& path) {
  if (value.is_array()) {
    ASSERT_TRUE(schema.contains("items")) << path;
    for (const auto& item : value) ExpectKnown(item, schema["items"], path + "[]");
  }
  if (!value.is_object()) return;
  for (const auto& [name, field] : value.items()) {
    const std::string field_path = path + "." + name;
    if (schema.contains("additionalProperties")) {
      ExpectKnown(field, schema["additionalProperties"], field_path);
    } else {
      ASSERT_TRUE(schema["properties"].contains(name)) << field_path;
      ExpectKnown(field, schema["properties"][name], field_path);
    }
  }
}

TEST(CrdTest, HasEveryFieldOfStatus) {
  kube::Json status = api::ToJson(api::FullStatus());
  status["progress"] = api::ProgressToJson({7, 14.5, 90, {{"loss", 0.5}}, api::At(9), "Evaluating", 40});
  const OrderedJson schema = Version()["schema"]["openAPIV3Schema"]["properties"]["status"];

  ExpectKnown(status, schema, "status");

  for (const auto& [name, field] : schema["properties"].items()) EXPECT_TRUE(status.contains(name)) << name;
}

}  // namespace
}  // namespace espalier::ctl::schema
