// Calls the example's functions on servers: the rows are the same for every partitioning, and equal to those of a model
// in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "services/client/tensors/dist_tensor.h"
#include "services/client/testing/open_served.h"

namespace example {
namespace {

using espalier::DType;
using espalier::GlobalNodeId;
using espalier::NodeTypeId;
using espalier::StatusCode;
using espalier::client::DistGraph;
using espalier::client::DistTensor;
using espalier::client::RowSpace;
using espalier::client::TensorEffect;
using espalier::client::testing::OpenServed;
using espalier::client::testing::ServedGraph;
using espalier::client::testing::WithPlugin;
using ::testing::HasSubstr;

constexpr size_t kWidth = 3;

std::string ToBytes(const void* data, size_t size_bytes) { return {static_cast<const char*>(data), size_bytes}; }

// Returns the ids of every step-th node, beginning with 0.
std::vector<uint64_t> EveryNode(size_t step, uint64_t num_nodes) {
  std::vector<uint64_t> ids;
  for (uint64_t id = 0; id < num_nodes; id += step) ids.push_back(id);
  return ids;
}

class AveragePluginTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  AveragePluginTest()
      : served_(espalier::client::testing::SmallGraph(), GetParam(), WithPlugin("averages", ESPALIER_EXAMPLE_AVERAGES)),
        graph_(OpenServed(served_.addresses())) {}

  DistTensor MakeAverages(DType dtype = DType::kF32) const {
    auto tensor = DistTensor::Create(
        *graph_, {.rows = RowSpace::Nodes(NodeTypeId(0)), .row_shape = {kWidth}, .dtype = dtype, .name = "averages"});
    ESPALIER_CHECK(tensor.ok()) << tensor.status().ToString();
    return *std::move(tensor);
  }
  std::string FirstLine(const std::string& share) const {
    return graph_->schema().node_types().front() + " averages " + share + "\n";
  }
  espalier::Status PushError(const std::string& request) const {
    return graph_->CallFunctionEverywhere("averages/push", request, TensorEffect::kChanges).status();
  }

  const ServedGraph served_;
  const std::unique_ptr<DistGraph> graph_;
};

TEST_P(AveragePluginTest, RowsMoveToPushedValues) {
  const DistTensor averages = MakeAverages();
  std::vector<float> model(graph_->num_nodes() * kWidth);
  for (const size_t step : {size_t{2}, size_t{3}, size_t{1}}) {
    const std::vector<uint64_t> ids = EveryNode(step, graph_->num_nodes());
    std::vector<float> rows;
    for (const uint64_t id : ids) {
      for (size_t c = 0; c < kWidth; ++c) rows.push_back(static_cast<float>((id * 7 + c * 3 + step) % 11));
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      float& value = model[ids[i / kWidth] * kWidth + i % kWidth];
      value += 0.25F * (rows[i] - value);
    }
    const auto taken = graph_->CallFunctionEverywhere(
        "averages/push",
        FirstLine("0.25") + ToBytes(ids.data(), ids.size() * 8) + ToBytes(rows.data(), rows.size() * sizeof(float)),
        TensorEffect::kChanges);
    ASSERT_TRUE(taken.ok()) << taken.status().ToString();
    size_t total = 0;
    for (const std::string& count : *taken) total += std::stoul(count);
    EXPECT_EQ(total, ids.size());
  }

  std::vector<GlobalNodeId> nodes;
  for (uint64_t id = 0; id < graph_->num_nodes(); ++id) nodes.emplace_back(id);
  const auto rows = averages.ReadRows(espalier::client::ToRowIds(nodes));
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  for (size_t i = 0; i < model.size(); ++i) ASSERT_FLOAT_EQ(rows->values<float>()[i], model[i]) << "element " << i;

  const std::vector<uint64_t> ids = EveryNode(100, graph_->num_nodes());
  const auto answers =
      graph_->CallFunctionEverywhere("averages/norms", FirstLine("0") + ToBytes(ids.data(), ids.size() * 8));
  ASSERT_TRUE(answers.ok()) << answers.status().ToString();
  std::map<uint64_t, double> norms;
  for (const std::string& answer : *answers) {
    std::istringstream lines(answer);
    uint64_t id = 0;
    double norm = 0;
    while (lines >> id >> norm) norms[id] = norm;
  }
  ASSERT_EQ(norms.size(), ids.size());
  for (const uint64_t id : ids) {
    double squares = 0;
    for (size_t c = 0; c < kWidth; ++c) squares += std::pow(model[id * kWidth + c], 2.0);
    EXPECT_NEAR(norms[id], std::sqrt(squares), 1e-4) << "node " << id;
  }
}

TEST_P(AveragePluginTest, NamesErrorsOfRequest) {
  EXPECT_EQ(PushError("").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(PushError(FirstLine("2")).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(PushError("nothing averages 0.5\n").code(), StatusCode::kNotFound);
  EXPECT_EQ(PushError(FirstLine("0.5")).code(), StatusCode::kNotFound);  // the tensor does not exist yet
  EXPECT_THAT(PushError(FirstLine("0.5")).message(), HasSubstr("there is no tensor 'averages'"));
  {
    const DistTensor averages = MakeAverages();
    EXPECT_THAT(PushError(FirstLine("0.5") + "short").message(),
                HasSubstr("bytes of ids and rows: expected a multiple of"));
    const std::vector<uint64_t> twice = {0, 0};
    const std::string rows(2 * kWidth * sizeof(float), '\0');
    EXPECT_THAT(PushError(FirstLine("0.5") + ToBytes(twice.data(), 16) + rows).message(),
                HasSubstr("the ids are not ascending"));
    const uint64_t far = graph_->num_nodes();
    EXPECT_EQ(PushError(FirstLine("0.5") + ToBytes(&far, 8) + rows.substr(0, kWidth * sizeof(float))).code(),
              StatusCode::kNotFound);
  }
  const DistTensor doubles = MakeAverages(DType::kF64);
  const espalier::Status dtype = PushError(FirstLine("0.5"));
  EXPECT_EQ(dtype.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(dtype.message(), HasSubstr("tensor 'averages' has elements of dtype 10 (F64), not 9"));
}

INSTANTIATE_TEST_SUITE_P(Partitions, AveragePluginTest, ::testing::Values(1u, 3u));

}  // namespace
}  // namespace example
