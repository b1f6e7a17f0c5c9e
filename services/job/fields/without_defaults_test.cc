#include "services/job/fields/without_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "services/job/parsing/parse.h"

namespace espalier::job {
namespace {

using ::testing::HasSubstr;

constexpr char kJob[] = R"(
apiVersion: espalier.io/v1alpha1
kind: DistTraining
metadata: {name: small}
spec:
  graph: {source: {uri: "s3://graphs/small", format: NPY}}
  training:
    task: {type: NodeClassification, label: label, split: split}
    inputs: [{nodeType: paper, features: [x]}, {nodeType: author, embedding: {size: 8, dtype: F32}}]
    model: {type: GraphSAGE}
    sampling: {layers: [{fanout: 5}]}
    batchSize: 1024
    epochs: 7
  output: {uri: "s3://results/small"}
)";

std::string EffectiveOf(const std::string& text) {
  const Result<ParsedJob> parsed = ParseJob("", text, {}, ReadBy::kOperator);
  EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
  return parsed.ok() ? parsed->effective_json : "{}";
}

// The order of fields may differ.
void ExpectToParseToTheSame(const std::string& shortened, const std::string& effective) {
  EXPECT_EQ(nlohmann::json::parse(EffectiveOf(shortened)), nlohmann::json::parse(effective));
}

TEST(WithoutDefaultsTest, ParsesToTheSameValue) {
  const std::string effective = EffectiveOf(kJob);
  ExpectToParseToTheSame(WithoutDefaults(effective), effective);
}

TEST(WithoutDefaultsTest, OmitsFieldsWithDefaultValues) {
  const nlohmann::json spec = nlohmann::json::parse(WithoutDefaults(EffectiveOf(kJob)))["spec"];
  EXPECT_FALSE(spec["training"].contains("batchSize"));  // written in the document, with the default value
  EXPECT_FALSE(spec["training"].contains("seed"));
  EXPECT_FALSE(spec["training"]["inputs"][1]["embedding"].contains("dtype"));
  EXPECT_FALSE(spec.contains("runPolicy"));
  EXPECT_EQ(spec["training"]["epochs"], 7);
  EXPECT_EQ(spec["training"]["inputs"][1]["embedding"]["size"], 8);
  EXPECT_EQ(spec["training"]["evaluation"]["metric"], "Accuracy") << "its default depends on the task";
}

TEST(WithoutDefaultsTest, KeepsFieldsWithoutDefaults) {
  const std::string effective = EffectiveOf(kJob);
  EXPECT_THAT(WithoutDefaults(effective), HasSubstr("s3://results/small"));
  ExpectToParseToTheSame(WithoutDefaults(effective), effective);
}

}  // namespace
}  // namespace espalier::job
