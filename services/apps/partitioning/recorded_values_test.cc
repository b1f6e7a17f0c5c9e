#include "services/apps/partitioning/recorded_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "services/apps/partitioning/testing/library_job.h"

namespace espalier::partitioning {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Three papers that cite each other, and an author who has written one of them.
graph::SourceGraph SmallLibrary() {
  graph::SourceGraph graph;
  graph.schema =
      *graph::GraphSchema::Make({"author", "paper"}, {{"author", "writes", "paper"}, {"paper", "cites", "paper"}});
  graph.nodes.resize(2);
  graph.nodes[0].count = 1;
  graph.nodes[1].count = 3;
  graph.nodes[1].columns["feat"] = Tensor::Zeros(DType::kF32, {3, 2});
  graph.nodes[1].columns["topic"] = Tensor::FromVector(std::vector<int64_t>{0, 1, 0});
  graph.edges.resize(2);
  graph.edges[0].sources = graph.edges[0].destinations = Tensor::FromVector(std::vector<uint32_t>{0});
  graph.edges[0].columns["strength"] = Tensor::FromVector(std::vector<float>{0});
  graph.edges[1].sources = Tensor::FromVector(std::vector<uint32_t>{0, 1, 2});
  graph.edges[1].destinations = Tensor::FromVector(std::vector<uint32_t>{1, 2, 0});
  graph.edges[1].columns["strength"] = Tensor::FromVector(std::vector<float>{0, 0.5F, 1});
  graph.splits["time"][1] = {.train = {0}, .validation = {1}, .test = {2}};
  return graph;
}

const job::ParsedJob& WeightedJob() {
  static const job::ParsedJob job = LibraryJob({{"training.sampling.weight", "strength"}});
  return job;
}

Status CheckRecorded(const GraphNames& names) {
  return CheckRecordedValues(WeightedJob().training, TrainedBy::kEspalier, names);
}

TEST(RecordedValuesTest, WeightsAreRefusedInTheWordsOfTheirSource) {
  graph::SourceGraph source = SmallLibrary();
  const auto check = [&](std::vector<float> strength) {
    source.edges[1].columns["strength"] = Tensor::FromVector(std::move(strength));
    GraphNames names = *NamesOf(source, WeightedJob().training.graph);
    MarkWeights(source, /*threads=*/2, &names);
    return CheckRecorded(names);
  };
  EXPECT_EQ(check({0, 0.5F, 1}), Status());
  const Status negative = check({1, -2.5F, 1});
  EXPECT_EQ(negative.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(negative.message(),
            "spec.training.sampling.weight: row 1 of column 'strength' of edge type 'paper:cites:paper' is -2.5: "
            "expected a finite weight, 0 or larger");
  EXPECT_THAT(check({1, std::numeric_limits<float>::infinity(), 1}).message(), HasSubstr("is infinity: expected"));
  EXPECT_THAT(check({0, 0, 0}).message(),
              StartsWith("spec.training.sampling.weight: all 4 weights in column 'strength' are 0"));
}

TEST(RecordedValuesTest, WhatIsComputedWithLacksNoValues) {
  GraphNames names = *NamesOf(SmallLibrary(), WeightedJob().training.graph);
  names.node_columns[1].at("topic").lacks_values = true;
  EXPECT_EQ(CheckRecorded(names), Status()) << "labels may";
  names.edge_columns[1].at("strength").lacks_values = true;
  EXPECT_THAT(CheckRecorded(names).message(),
              StartsWith("spec.training.sampling.weight: column 'strength' of edge type 'paper:cites:paper' lacks "
                         "values: some are NaN; only label"));
  names.node_columns[1].at("feat").lacks_values = true;
  EXPECT_THAT(CheckRecorded(names).message(),
              StartsWith("spec.training.inputs[0].features[0]: column 'feat' of node type 'paper' lacks values"));
  EXPECT_EQ(CheckRecordedValues(WeightedJob().training, TrainedBy::kProgram, names), Status());
}

}  // namespace
}  // namespace espalier::partitioning
