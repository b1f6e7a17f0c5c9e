#include "services/trainer/data/node_data.h"
#include "services/base/testing/soon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "services/collective/self_collective.h"

namespace espalier::trainer {
namespace {

using testing::HasSubstr;

// Columns of one node type in memory. Node i is row i.
class ColumnsInMemory final : public sampler::RowSource {
 public:
  explicit ColumnsInMemory(std::map<std::string, Tensor> columns, std::map<std::string, std::vector<float>> scales = {})
      : columns_(std::move(columns)) {
    for (const auto& [name, tensor] : columns_) {
      descriptions_.push_back(
          {NodeTypeId(0), name, tensor.dtype(), {tensor.shape().begin() + 1, tensor.shape().end()}, scales[name]});
    }
  }
  const std::vector<sampler::ColumnDescription>& columns() const override { return descriptions_; }
  Result<Tensor> GatherRows(NodeTypeId, const std::string& name, std::span<const GlobalNodeId> nodes,
                            Deadline) override {
    const Tensor& column = columns_.at(name);
    std::vector<int64_t> shape = column.shape();
    shape[0] = static_cast<int64_t>(nodes.size());
    Tensor rows = Tensor::Zeros(column.dtype(), shape);
    for (size_t i = 0; i < nodes.size(); ++i) {
      std::copy_n(column.bytes() + nodes[i].value * column.row_bytes(), column.row_bytes(),
                  rows.mutable_bytes() + i * column.row_bytes());
    }
    return rows;
  }

 private:
  std::map<std::string, Tensor> columns_;
  std::vector<sampler::ColumnDescription> descriptions_;
};

graph::GraphSchema OneTypeSchema() { return *graph::GraphSchema::Make({"n"}, {{"n", "e", "n"}}); }
std::vector<GlobalNodeId> Nodes(std::initializer_list<uint64_t> ids) {
  std::vector<GlobalNodeId> nodes;
  for (const uint64_t id : ids) nodes.emplace_back(id);
  return nodes;
}

job::Training TrainingWith(std::vector<std::string> features, const std::string& label) {
  job::Training training;
  training.inputs = {{"", std::move(features)}};
  training.task.label = label;
  return training;
}

TEST(NodeDataTest, PutsColumnsOfAnyDtypeSideBySide) {
  const uint16_t halves[] = {FloatToHalf(1.5f), FloatToHalf(-2.0f)};
  ColumnsInMemory columns({{"half", Tensor::Wrap(DType::kF16, {2}, halves, nullptr)},
                           {"pair", Tensor::FromVector<float>({1, 2, 3, 4}, {2, 2})},
                           {"count", Tensor::FromVector<uint32_t>({7, 4'000'000'000u})},
                           {"y", Tensor::FromVector<int64_t>({0, 1})}});
  const auto data = NodeData::Make(TrainingWith({"pair", "half", "count"}, "y"), OneTypeSchema(), columns);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_EQ(data->input_widths(), std::vector<int64_t>{4});
  const auto features = data->Features(NodeTypeId(0), Nodes({1, 0, 1}), Soon());
  ASSERT_TRUE(features.ok());
  EXPECT_TRUE(torch::equal(
      *features, torch::tensor({{3.0f, 4.0f, -2.0f, 4e9f}, {1.0f, 2.0f, 1.5f, 7.0f}, {3.0f, 4.0f, -2.0f, 4e9f}})));
}

// "integers" has no scales: its values are features as they are.
TEST(NodeDataTest, WidensIntegersWithTheirScales) {
  ColumnsInMemory columns({{"scaled", Tensor::FromVector<int8_t>({127, -2, 3, 0}, {2, 2})},
                           {"integers", Tensor::FromVector<int8_t>({5, -6})},
                           {"target", Tensor::FromVector<int8_t>({10, -20}, {2, 1})}},
                          {{"scaled", {0.5F, 4}}, {"target", {0.25F}}});
  job::Training training = TrainingWith({"scaled", "integers"}, "target");
  training.task.type = job::TaskType::kNodeRegression;
  const auto data = NodeData::Make(training, OneTypeSchema(), columns);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  const auto features = data->Features(NodeTypeId(0), Nodes({1, 0}), Soon());
  ASSERT_TRUE(features.ok()) << features.status().ToString();
  EXPECT_TRUE(torch::equal(*features, torch::tensor({{1.5F, 0.0F, -6.0F}, {63.5F, -8.0F, 5.0F}})));
  EXPECT_TRUE(torch::equal(*data->Labels(Nodes({0, 1}), Soon()), torch::tensor({{2.5F}, {-5.0F}})));
}

TEST(NodeDataTest, ReadsClassesFromFloatsWithUnlabeledNodes) {
  ColumnsInMemory columns({{"x", Tensor::FromVector<float>({1, 2, 3})},
                           {"y", Tensor::FromVector<float>({2, NAN, 0})},
                           {"bad", Tensor::FromVector<float>({0, 0.5f, 1})}});
  const auto data = NodeData::Make(TrainingWith({"x"}, "y"), OneTypeSchema(), columns);
  EXPECT_TRUE(torch::equal(*data->Labels(Nodes({0, 1, 2}), Soon()), torch::tensor({2, -1, 0}, torch::kInt64)));
  const auto bad = NodeData::Make(TrainingWith({"x"}, "bad"), OneTypeSchema(), columns);
  const Status status = bad->Labels(Nodes({1}), Soon()).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("column 'bad'"));
}

TEST(NodeDataTest, ReadsTargetsOfRegression) {
  ColumnsInMemory columns({{"x", Tensor::FromVector<float>({1, 2})}, {"y", Tensor::FromVector<double>({0.5, -1})}});
  job::Training training = TrainingWith({"x"}, "y");
  training.task.type = job::TaskType::kNodeRegression;
  const auto data = NodeData::Make(training, OneTypeSchema(), columns);
  EXPECT_TRUE(torch::equal(*data->Labels(Nodes({1, 0}), Soon()), torch::tensor({{-1.0f}, {0.5f}})));
}

TEST(NodeDataTest, KeepsUnknownEntriesOfSeveralLabels) {
  ColumnsInMemory columns(
      {{"x", Tensor::FromVector<float>({1, 2})}, {"y", Tensor::FromVector<float>({1, NAN, 0, NAN, 1, 1}, {2, 3})}});
  job::Training training = TrainingWith({"x"}, "y");
  training.task.multi_label = true;
  const auto data = NodeData::Make(training, OneTypeSchema(), columns);
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  const torch::Tensor labels = *data->Labels(Nodes({1, 0}), Soon());
  EXPECT_TRUE(torch::equal(labels.nan_to_num(-7), torch::tensor({{-7.0f, 1.0f, 1.0f}, {1.0f, -7.0f, 0.0f}})));

  ColumnsInMemory integers(
      {{"x", Tensor::FromVector<float>({1, 2})}, {"y", Tensor::FromVector<int8_t>({1, -1, 0, 0}, {2, 2})}});
  const auto of_integers = NodeData::Make(training, OneTypeSchema(), integers);
  EXPECT_TRUE(torch::equal(of_integers->Labels(Nodes({0, 1}), Soon())->nan_to_num(-7),
                           torch::tensor({{1.0f, -7.0f}, {0.0f, 0.0f}})));
}

TEST(NodeDataTest, NamesUnknownColumns) {
  ColumnsInMemory columns(
      {{"x", Tensor::FromVector<float>({1, 2})}, {"wide", Tensor::FromVector<int64_t>({0, 1, 1, 0}, {2, 2})}});
  const auto no_label = NodeData::Make(TrainingWith({"x"}, "z"), OneTypeSchema(), columns).status();
  EXPECT_EQ(no_label.code(), StatusCode::kNotFound);
  EXPECT_THAT(no_label.message(), HasSubstr("task.label: node type 'n' has no column 'z'; it has: wide, x"));
  const auto wide = NodeData::Make(TrainingWith({"x"}, "wide"), OneTypeSchema(), columns).status();
  EXPECT_THAT(wide.message(), HasSubstr("expected one class (or multiLabel: true)"));
}

// A split with every node in every part.
class AllNodesAreSeeds final : public sampler::SeedSource {
 public:
  explicit AllNodesAreSeeds(uint64_t num_nodes) : num_nodes_(num_nodes) {}
  Result<uint64_t> Count(NodeTypeId, const std::string&, graph::SplitPartName) override { return num_nodes_; }
  Result<uint64_t> CountOfEdges(EdgeTypeId, const std::string&, graph::SplitPartName) override {
    return Unimplemented("edges");
  }
  Result<sampler::GlobalBatch> SeedsOfStep(const sampler::SeedQuery&, Deadline) override {
    sampler::GlobalBatch batch;
    for (uint64_t node = 0; node < num_nodes_; ++node) batch.seeds.emplace_back(node);
    return batch;
  }
  Result<std::vector<GlobalNodeId>> ToGlobalIds(NodeTypeId, std::span<const OriginalNodeId>, Deadline) override {
    return Unimplemented("original ids");
  }

 private:
  const uint64_t num_nodes_;
};

TEST(NodeDataTest, CountsClassesAndRefusesInvalidLabels) {
  constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
  ColumnsInMemory columns({{"x", Tensor::FromVector<float>({1, 2, 3})},
                           {"y", Tensor::FromVector<int64_t>({0, -1, 4})},
                           {"none", Tensor::FromVector<int64_t>({-1, -1, -1})},
                           {"unknown", Tensor::FromVector<int64_t>({0, 1, kUnknown})}});
  AllNodesAreSeeds seeds(3);
  collective::SelfCollective self;
  const auto count = [&](const std::string& label) -> Result<int64_t> {
    ASSIGN_OR_RETURN(NodeData data, NodeData::Make(TrainingWith({"x"}, label), OneTypeSchema(), columns));
    RETURN_IF_ERROR(data.CountOutputs("split", seeds, self, std::chrono::seconds(60)).status());
    return data.num_outputs();
  };
  EXPECT_EQ(*count("y"), 5);
  EXPECT_THAT(count("none").status().message(),
              HasSubstr("no training node of split 'split' has a label in column 'none': all 3 are"));
  const Status unknown = count("unknown").status();
  EXPECT_EQ(unknown.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(unknown.message(), HasSubstr("has labels up to 9223372036854775807; expected classes below 1000000"));
}

}  // namespace
}  // namespace espalier::trainer
