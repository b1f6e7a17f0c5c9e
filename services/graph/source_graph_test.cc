#include "services/graph/source_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "services/graph/testing/small_graphs.h"

namespace espalier::graph {
namespace {

using ::testing::HasSubstr;

std::string Violation(const SourceGraph& graph) { return ValidateSourceGraph(graph, 2).ToString(); }

// A list in memory equals a list over a tensor, which may be mapped.
TEST(IdListTest, ReadsIdsFromMemoryAndFiles) {
  const Tensor tensor = Tensor::FromVector(std::vector<uint64_t>{7, 3, 7});
  const IdList held = {7, 3, 7}, shared = IdList::Of(tensor);
  EXPECT_EQ(held, shared);
  EXPECT_EQ(shared.ids().data(), tensor.values<uint64_t>().data());
  EXPECT_EQ(IdList(shared).begin(), shared.begin());
  EXPECT_EQ(shared.size(), 3u);
  EXPECT_EQ(shared[1], 3u);
  EXPECT_FALSE(shared == (IdList{7, 3}));
  EXPECT_EQ(std::vector<uint64_t>(shared.begin(), shared.end()), (std::vector<uint64_t>{7, 3, 7}));
  IdList none = IdList::Of(Tensor::Zeros(DType::kU64, {0}));
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none, IdList());
  none.push_back(5);
  EXPECT_EQ(none, IdList{5});
}

TEST(ValidateSourceGraphTest, AcceptsIsolatedNodesAndEmptyTypes) {
  EXPECT_EQ(Violation(testing::HomogeneousGraph(4, {{0, 1}})), "OK");
  EXPECT_EQ(Violation(testing::HomogeneousGraph(1, {})), "OK");
  EXPECT_EQ(Violation(testing::TypedExample()), "OK");
}

TEST(ValidateSourceGraphTest, RefusesAGraphWithoutNodes) {
  EXPECT_THAT(Violation(testing::HomogeneousGraph(0, {})), HasSubstr("INVALID_ARGUMENT: the graph is empty"));
}

TEST(ValidateSourceGraphTest, NamesTheFirstEdgeOutOfRange) {
  EXPECT_EQ(Violation(testing::HomogeneousGraph(3, {{0, 1}, {2, 3}, {9, 0}})),
            "OUT_OF_RANGE: edge type 'node:edge:node', sources[2] is 9: expected 0 to 2");
  SourceGraph graph = testing::HomogeneousGraph(3, {});
  graph.edges[0].sources = Tensor::FromVector(std::vector<int64_t>{0, 1});
  graph.edges[0].destinations = Tensor::FromVector(std::vector<int64_t>{2, -1});
  EXPECT_THAT(Violation(graph), HasSubstr("destinations[1] is -1: expected 0 to 2"));
}

TEST(ValidateSourceGraphTest, RefusesAnEdgeOfATypeWithoutNodes) {
  SourceGraph graph = testing::TypedExample();
  graph.nodes[graph.schema.FindNodeType("author")->value] = NodeSet();
  EXPECT_THAT(Violation(graph), HasSubstr("sources[0] is 0: no id is valid, because there are no nodes of this type"));
}

TEST(ValidateSourceGraphTest, FindsTheLowestViolationForAnyNumberOfThreads) {
  testing::EdgeList edges(300'000, {0, 1});
  edges[70'001] = edges[200'000] = {0, 7};
  const SourceGraph graph = testing::HomogeneousGraph(3, edges);
  for (const int threads : {1, 2, 5}) {
    EXPECT_THAT(ValidateSourceGraph(graph, threads).message(), HasSubstr("destinations[70001] is 7"));
  }
}

TEST(ValidateSourceGraphTest, RefusesEndpointsOfDifferentLengthsAndOtherDTypes) {
  SourceGraph graph = testing::PathGraph(3);
  graph.edges[0].destinations = Tensor::FromVector(std::vector<uint32_t>{0});
  EXPECT_THAT(Violation(graph), HasSubstr("sources are U32 [4], destinations U32 [1]"));
  graph.edges[0].sources = graph.edges[0].destinations = Tensor::FromVector(std::vector<float>{0});
  EXPECT_THAT(Violation(graph), HasSubstr("expected U32, I32, I64 or U64"));
}

// Labels of nodes and edges. Infinity is an error in labels too.
TEST(ValidateSourceGraphTest, LabelsMayLackValuesInEveryFloatingType) {
  const auto with = [](DType dtype, const std::vector<uint16_t>& bits) {
    SourceGraph graph = testing::PathGraph(3);
    auto owner = std::make_shared<std::vector<uint16_t>>(bits);
    graph.nodes[0].columns["label"] = Tensor::Wrap(dtype, {3, 1}, owner->data(), owner);
    return Violation(graph);
  };
  EXPECT_EQ(with(DType::kF16, {0x7E00, 0xFE00, 0x7C01}), "OK");
  EXPECT_EQ(with(DType::kBF16, {0x7FC0, 0xFFC0, 0x7F81}), "OK");
  EXPECT_THAT(with(DType::kF16, {0x7E00, 0xFC00, 0}), HasSubstr("row 1, at index 0, is infinite"));
  EXPECT_THAT(with(DType::kBF16, {0, 0, 0x7F80}), HasSubstr("row 2, at index 0, is infinite"));

  SourceGraph graph = testing::PathGraph(2);
  graph.nodes[0].columns["y"] = Tensor::FromVector(std::vector<double>{std::numeric_limits<double>::quiet_NaN(), 1});
  graph.edges[0].columns["edge-label"] =
      Tensor::FromVector(std::vector<float>(graph.edges[0].num_edges(), std::numeric_limits<float>::quiet_NaN()));
  EXPECT_EQ(Violation(graph), "OK");
  graph.edges[0].columns["weight"] = graph.edges[0].columns["edge-label"];
  EXPECT_THAT(Violation(graph),
              HasSubstr("column 'weight' row 0, at index 0, is NaN: expected finite numbers; only label"));
}

TEST(ValidateSourceGraphTest, NamesTheRowOfANumberThatIsNotFinite) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  SourceGraph graph = testing::PathGraph(3);
  graph.nodes[0].columns["node-feat"] = Tensor::FromVector(std::vector<float>{0, 1, 2, kNan, 4, 5}, {3, 2});
  EXPECT_THAT(Violation(graph), HasSubstr("node type 'node', column 'node-feat' row 1, at index 1, is NaN"));

  // Infinity as the 16-bit types write it, and as F64.
  const auto with = [](DType dtype, std::vector<uint16_t> bits) {
    SourceGraph halves = testing::PathGraph(3);
    auto owner = std::make_shared<std::vector<uint16_t>>(std::move(bits));
    halves.nodes[0].columns["node-feat"] = Tensor::Wrap(dtype, {3, 1}, owner->data(), owner);
    return Violation(halves);
  };
  EXPECT_THAT(with(DType::kF16, {0, 0, 0x7C00}), HasSubstr("row 2, at index 0, is infinite"));
  EXPECT_THAT(with(DType::kBF16, {0, 0xFF80, 0}), HasSubstr("row 1, at index 0, is infinite"));
  EXPECT_EQ(with(DType::kBF16, {0x7C00, 0x4000, 0x7F7F}), "OK");
  EXPECT_EQ(with(DType::kF16, {0x7BFF, 0x4000, 0x8000}), "OK");
  graph = testing::PathGraph(1);
  graph.nodes[0].columns["x"] = Tensor::FromVector(std::vector<double>{-std::numeric_limits<double>::infinity()});
  EXPECT_THAT(Violation(graph), HasSubstr("column 'x' row 0, at index 0, is infinite"));
}

// NumPy's view(bool) creates such bytes. A process that loads a partition with them would report a damaged file.
TEST(ValidateSourceGraphTest, NamesTheRowOfABoolThatIsNeitherZeroNorOne) {
  SourceGraph graph = testing::PathGraph(3);
  Tensor& flags = graph.nodes[0].columns["flags"] = Tensor::Zeros(DType::kBool, {3, 2});
  flags.mutable_bytes()[0] = std::byte{1};
  EXPECT_EQ(Violation(graph), "OK");
  flags.mutable_bytes()[3] = std::byte{255};
  EXPECT_EQ(
      Violation(graph),
      "INVALID_ARGUMENT: node type 'node', column 'flags' row 1, at index 1, is 255: expected 0 or 1, because the "
      "column is BOOL");
  graph = testing::PathGraph(3);
  Tensor& mask = graph.edges[0].columns["mask"] = Tensor::Zeros(DType::kBool, {4});
  mask.mutable_bytes()[3] = std::byte{2};
  EXPECT_THAT(Violation(graph), HasSubstr("column 'mask' row 3, at index 0, is 2"));
}

TEST(ValidateSourceGraphTest, RefusesColumnsOfOtherLengths) {
  SourceGraph graph = testing::PathGraph(3);
  graph.nodes[0].columns["node-label"] = Tensor::FromVector(std::vector<int64_t>{1, 2});
  EXPECT_THAT(Violation(graph), HasSubstr("column 'node-label' is I64 [2]: expected 3 rows"));
  graph = testing::PathGraph(3);
  graph.edges[0].columns["weight"] = Tensor::FromVector(std::vector<float>{1});
  EXPECT_THAT(Violation(graph), HasSubstr("'node:edge:node', column 'weight' is F32 [1]: expected 4 rows"));
  graph = testing::PathGraph(3);
  graph.nodes[0].columns["a/b"] = Tensor::FromVector(std::vector<int64_t>{1, 2, 3});
  EXPECT_THAT(Violation(graph), HasSubstr("'a/b' is not a name"));
}

TEST(ValidateSourceGraphTest, RefusesSplitsThatOverlapOrNameOtherNodes) {
  SourceGraph graph = testing::PathGraph(3);
  graph.splits["public"][0] = {.train = {0, 1}, .validation = {}, .test = {1}};
  EXPECT_THAT(Violation(graph), HasSubstr("split 'public' of 'node': node 1 is in both train and test"));
  graph.splits["public"][0] = {.train = {1, 0}};
  EXPECT_THAT(Violation(graph), HasSubstr("train[1] is 0 after 1"));
  graph.splits["public"][0] = {.train = {0, 2, 2}};
  EXPECT_THAT(Violation(graph), HasSubstr("split 'public' of 'node', train: node 2 occurs more than once"));
  graph.splits["public"][0] = {.test = {3}};
  EXPECT_THAT(Violation(graph), HasSubstr("OUT_OF_RANGE: split 'public' of 'node', test[0] is 3"));
  graph = testing::PathGraph(3);
  graph.splits["public"][1] = {};
  EXPECT_THAT(Violation(graph), HasSubstr("names node type number 1"));
}

}  // namespace
}  // namespace espalier::graph
