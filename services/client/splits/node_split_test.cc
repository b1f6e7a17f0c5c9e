// Shares of nodes of a named split, of ids and of a mask: they are disjoint and complete, balanced or local; epochs
// have equal lengths.
#include "services/client/splits/node_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <span>

#include "services/client/loaders/node_data_loader.h"
#include "services/client/testing/ranks.h"
#include "services/client/testing/served_graph.h"
#include "services/telemetry/metrics.h"

namespace espalier::client {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using testing::ServedGraph;
using ::testing::SizeIs;

struct Ranks {
  uint32_t partitions;
  uint32_t world_size;
  uint64_t num_nodes = 1500;
};

void PrintTo(const Ranks& ranks, std::ostream* os) {
  *os << ranks.world_size << " ranks, " << ranks.partitions << " partitions";
}

class NodeSplitTest : public ::testing::TestWithParam<Ranks> {
 protected:
  NodeSplitTest() : served_(testing::SmallGraph(GetParam().num_nodes), GetParam().partitions) {
    auto session = Connect({.addresses = served_.addresses()});
    ESPALIER_CHECK(session.ok()) << session.status().ToString();
    for (uint32_t rank = 0; rank < GetParam().world_size; ++rank) {
      graphs_.push_back(testing::GraphOfRank(session->graph, rank, GetParam().world_size));
    }
    split_ = served_.local_graph().description().splits.front().split;
    auto nodes = graphs_[0]->SplitNodes(kType, split_, graph::SplitPartName::kTrain);
    ESPALIER_CHECK(nodes.ok()) << nodes.status().ToString();
    nodes_ = *std::move(nodes);
  }

  std::vector<NodeShare> Shares(const NodeSplitOptions& options) const {
    return SelectShares(
        [&](const DistGraph& graph) { return NodeSplit(graph, kType, split_, graph::SplitPartName::kTrain, options); });
  }
  // Returns the shares of all ranks. split(graph) returns a NodeSplit.
  template <class Split>
  std::vector<NodeShare> SelectShares(Split split) const {
    std::vector<NodeShare> shares;
    for (const auto& graph : graphs_) {
      Result<NodeShare> share = split(*graph);
      ESPALIER_CHECK(share.ok()) << share.status().ToString();
      shares.push_back(*std::move(share));
    }
    return shares;
  }
  // Each rank has nodes of its partitions only; the shares of ranks of the same partition differ by at most one; the
  // union is `whole`.
  void ExpectAtHome(const std::vector<NodeShare>& shares, const std::vector<GlobalNodeId>& whole) const;

  static constexpr NodeTypeId kType{0};
  ServedGraph served_;
  std::vector<std::unique_ptr<DistGraph>> graphs_;  // by rank
  std::string split_;
  std::vector<GlobalNodeId> nodes_;  // of the split, by original id
};

uint64_t FindLargestShare(const std::vector<NodeShare>& shares) {
  uint64_t largest = 0;
  for (const NodeShare& share : shares) largest = std::max<uint64_t>(largest, share.nodes.size());
  return largest;
}

std::vector<GlobalNodeId> Joined(const std::vector<NodeShare>& shares) {
  std::vector<GlobalNodeId> all;
  for (const NodeShare& share : shares) all.insert(all.end(), share.nodes.begin(), share.nodes.end());
  return all;
}

void ExpectEven(const std::vector<NodeShare>& shares) {
  for (const NodeShare& share : shares) {
    EXPECT_EQ(share.largest, FindLargestShare(shares));
    EXPECT_GE(share.nodes.size() + 1, share.largest);
  }
}

void NodeSplitTest::ExpectAtHome(const std::vector<NodeShare>& shares, const std::vector<GlobalNodeId>& whole) const {
  const graph::PartitionBook& book = graphs_[0]->book();
  const uint32_t partitions = GetParam().partitions, world_size = GetParam().world_size;
  std::vector<std::set<size_t>> sizes(partitions);  // of the ranks that share a partition
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    const NodeShare& share = shares[rank];
    EXPECT_EQ(share.largest, FindLargestShare(shares));
    for (const GlobalNodeId node : share.nodes) {
      const uint32_t owner = book.OwnerOf(kType, node).value;
      EXPECT_EQ(world_size > partitions ? rank % partitions : rank,
                owner % (world_size > partitions ? partitions : world_size));
    }
    if (world_size > partitions) sizes[rank % partitions].insert(share.nodes.size());
  }
  const std::vector<GlobalNodeId> all = Joined(shares);
  EXPECT_EQ(std::multiset<GlobalNodeId>(all.begin(), all.end()),
            std::multiset<GlobalNodeId>(whole.begin(), whole.end()));
  for (const std::set<size_t>& of_partition : sizes) {
    if (of_partition.empty()) continue;
    EXPECT_LE(*of_partition.rbegin() - *of_partition.begin(), 1u);
  }
}

TEST_P(NodeSplitTest, EvenSharesAreTheSplitInItsOrder) {
  for (const uint64_t query : {uint64_t{7}, uint64_t{1} << 20}) {
    const std::vector<NodeShare> shares = Shares({.nodes_per_request = query});
    ExpectEven(shares);
    EXPECT_THAT(Joined(shares), ElementsAreArray(nodes_));
  }
}

TEST_P(NodeSplitTest, LocalSharesAreOwned) {
  ExpectAtHome(Shares({.by = SplitBy::kLocality, .nodes_per_request = 11}), nodes_);
}

TEST_P(NodeSplitTest, SharesOfIdsAreTheListInItsOrder) {
  // Every third node in descending order, then three of them again.
  std::vector<GlobalNodeId> ids;
  for (uint64_t id = graphs_[0]->num_nodes(kType); id > 2; id -= 3) ids.emplace_back(id - 1);
  for (const size_t i : {5, 5, 0}) ids.push_back(ids[i]);
  const std::vector<NodeShare> even =
      SelectShares([&](const DistGraph& graph) { return NodeSplit(graph, kType, ids, {}); });
  ExpectEven(even);
  EXPECT_THAT(Joined(even), ElementsAreArray(ids));

  ExpectAtHome(
      SelectShares([&](const DistGraph& graph) { return NodeSplit(graph, kType, ids, {.by = SplitBy::kLocality}); }),
      ids);
}

TEST_P(NodeSplitTest, SharesOfAMaskAreItsNodes) {
  for (const DType dtype : {DType::kBool, DType::kU8}) {
    const std::string name = std::string("mask-") + ToString(dtype);
    auto mask = DistTensor::Create(*graphs_[0], {.rows = RowSpace::Nodes(kType), .dtype = dtype, .name = name});
    ASSERT_TRUE(mask.ok()) << mask.status().ToString();
    std::vector<GlobalNodeId> chosen;
    for (uint64_t id = 3; id < graphs_[0]->num_nodes(kType); id += 7) chosen.emplace_back(id);
    Tensor ones = Tensor::Zeros(dtype, {static_cast<int64_t>(chosen.size())});
    std::fill_n(ones.mutable_bytes(), chosen.size(), std::byte{1});
    ASSERT_TRUE(mask->WriteRows(ToRowIds(chosen), ones).ok());

    const std::vector<NodeShare> even =
        SelectShares([&](const DistGraph& graph) { return NodeSplit(graph, *mask, {.nodes_per_request = 600}); });
    ExpectEven(even);
    EXPECT_THAT(Joined(even), ElementsAreArray(chosen));
    const std::vector<NodeShare> local =
        SelectShares([&](const DistGraph& graph) { return NodeSplit(graph, *mask, {.by = SplitBy::kLocality}); });
    ExpectAtHome(local, chosen);
    const std::vector<NodeShare> of_ids = SelectShares(
        [&](const DistGraph& graph) { return NodeSplit(graph, kType, chosen, {.by = SplitBy::kLocality}); });
    for (size_t rank = 0; rank < local.size(); ++rank) {
      EXPECT_EQ(local[rank].nodes, of_ids[rank].nodes) << "rank " << rank;
      EXPECT_EQ(local[rank].largest, of_ids[rank].largest) << "rank " << rank;
    }
  }
}

TEST_P(NodeSplitTest, EpochsAreEquallyLongOnEveryRank) {
  for (const SplitBy by : {SplitBy::kEven, SplitBy::kLocality}) {
    const std::vector<NodeShare> shares = Shares({.by = by});
    NodeLoaderOptions options{.seed_type = kType, .batch_size = 8};
    options.sampling.layers = {{{3}}};
    std::multiset<GlobalNodeId> seen;
    for (uint32_t rank = 0; rank < shares.size(); ++rank) {
      auto loader = DistNodeDataLoader::Make(
          *graphs_[rank], shares[rank], options,
          [](sampler::MiniBatch batch, const Deadline&) -> Result<sampler::MiniBatch> { return batch; });
      ASSERT_TRUE(loader.ok()) << loader.status().ToString();
      ASSERT_TRUE((*loader)->StartEpoch(2).ok());
      uint64_t batches = 0;
      for (;; ++batches) {
        auto batch = (*loader)->Next();
        ASSERT_TRUE(batch.ok()) << batch.status().ToString();
        if (!batch->has_value()) break;
        EXPECT_EQ((*batch)->global_num_seeds, (*batch)->num_seeds);
        seen.insert((*batch)->nodes[0].begin(), (*batch)->nodes[0].begin() + (*batch)->num_seeds);
      }
      EXPECT_EQ(batches, (FindLargestShare(shares) + 7) / 8) << "rank " << rank;
    }
    EXPECT_THAT(seen, ElementsAreArray(std::multiset<GlobalNodeId>(nodes_.begin(), nodes_.end())));
  }
}

// Includes more ranks than nodes (20).
INSTANTIATE_TEST_SUITE_P(Ranks, NodeSplitTest,
                         ::testing::Values(Ranks{1, 1}, Ranks{1, 4}, Ranks{3, 2}, Ranks{2, 5}, Ranks{4, 4},
                                           Ranks{2, 24, 200}));

// Calls of the ranks to four servers.
class NodeSplitReadsTest : public ::testing::Test {
 protected:
  NodeSplitReadsTest() {
    SessionOptions options;
    options.addresses = served_.addresses();
    options.access = Access::kRpc;
    auto session = Connect(options);
    ESPALIER_CHECK(session.ok()) << session.status().ToString();
    partitions_ = session->graph;
  }

  // Calls of `method` that a NodeSplit makes.
  template <class Split>
  double CountCalls(const std::string& method, Split split) {
    const double before = testing::AnsweredCalls(metrics_, method);
    const Result<NodeShare> share = split();
    ESPALIER_CHECK(share.ok()) << share.status().ToString();
    return testing::AnsweredCalls(metrics_, method) - before;
  }

  static constexpr NodeTypeId kType{0};
  static constexpr uint32_t kPartitions = 4;
  telemetry::MetricRegistry metrics_;
  ServedGraph served_{testing::SmallGraph(), kPartitions, {.metrics = &metrics_}};
  std::shared_ptr<sampler::PartitionedGraph> partitions_;
};

TEST_F(NodeSplitReadsTest, RankReadsItsRangeOfSplit) {
  const std::string split = served_.local_graph().description().splits.front().split;
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const auto graph = testing::GraphOfRank(partitions_, rank, 4);
    size_t size = 0;
    const double calls = CountCalls("SeedsOfStep", [&] {
      auto share = NodeSplit(*graph, kType, split, graph::SplitPartName::kTrain, {.nodes_per_request = 7});
      if (share.ok()) size = share->nodes.size();
      return share;
    });
    EXPECT_GT(size, 30u);
    EXPECT_GT(calls, 0) << "rank " << rank;
    EXPECT_LE(calls, kPartitions * (static_cast<double>(size) / 7 + 2)) << "rank " << rank;
  }
}

// The mask has the last five nodes of each partition, so the even share of rank r has nodes of partition r.
TEST_F(NodeSplitReadsTest, RankReadsMaskFromPartitionsOfItsShare) {
  const auto first_rank = testing::GraphOfRank(partitions_, 0, 1);
  const std::span<const uint64_t> first = first_rank->book().NodeFirst(kType);
  auto mask = DistTensor::Create(*first_rank, {.rows = RowSpace::Nodes(kType), .dtype = DType::kBool});
  ASSERT_TRUE(mask.ok()) << mask.status().ToString();
  std::vector<GlobalNodeId> chosen;
  for (uint32_t p = 0; p < kPartitions; ++p) {
    for (uint64_t node = first[p + 1] - 5; node < first[p + 1]; ++node) chosen.emplace_back(node);
  }
  Tensor ones = Tensor::Zeros(DType::kBool, {static_cast<int64_t>(chosen.size())});
  std::fill_n(ones.mutable_bytes(), chosen.size(), std::byte{1});
  ASSERT_TRUE(mask->WriteRows(ToRowIds(chosen), ones).ok());
  const auto questions_of = [&](uint32_t p) { return static_cast<double>((first[p + 1] - first[p] + 9) / 10); };
  const auto calls_of = [&](uint32_t rank, uint32_t world_size, SplitBy by) {
    const auto graph = testing::GraphOfRank(partitions_, rank, world_size);
    return CountCalls("Read", [&] { return NodeSplit(*graph, *mask, {.by = by, .nodes_per_request = 10}); });
  };
  for (uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(calls_of(rank, 4, SplitBy::kEven), questions_of(rank));
    EXPECT_EQ(calls_of(rank, 4, SplitBy::kLocality), questions_of(rank));
  }
  for (uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(calls_of(rank, 2, SplitBy::kLocality), questions_of(rank) + questions_of(rank + 2));
  }
  EXPECT_EQ(calls_of(6, 10, SplitBy::kLocality), questions_of(2));
}

class NodeSplitErrorTest : public ::testing::Test {
 protected:
  ServedGraph served_{testing::SmallGraph(), 2};
};

TEST_F(NodeSplitErrorTest, NamesProblem) {
  Context context;
  context.session.addresses = served_.addresses();
  const auto graph = DistGraph::Open(context);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const auto missing = NodeSplit(**graph, NodeTypeId(0), "no-such", graph::SplitPartName::kTrain, {});
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.status().ToString(), HasSubstr("no-such"));
  const std::string split = served_.local_graph().description().splits.front().split;
  EXPECT_EQ(
      NodeSplit(**graph, NodeTypeId(0), split, graph::SplitPartName::kTrain, {.nodes_per_request = 0}).status().code(),
      StatusCode::kInvalidArgument);
  EXPECT_THAT(NodeSplit(**graph, NodeTypeId(9), split, graph::SplitPartName::kTrain, {}).status().message(),
              HasSubstr("node type 9 does not exist"));
  const std::vector<GlobalNodeId> beyond = {GlobalNodeId(0), GlobalNodeId((*graph)->num_nodes(NodeTypeId(0)))};
  EXPECT_THAT(NodeSplit(**graph, NodeTypeId(0), beyond, {}).status().message(),
              HasSubstr("does not exist; there are 1500"));
  const std::vector<DistTensorOptions> no_masks = {
      {.rows = RowSpace::Edges(EdgeTypeId(0)), .dtype = DType::kBool},
      {.rows = RowSpace::Nodes(NodeTypeId(0)), .dtype = DType::kF32},
      {.rows = RowSpace::Nodes(NodeTypeId(0)), .row_shape = {2}, .dtype = DType::kBool}};
  for (const DistTensorOptions& options : no_masks) {
    const auto mask = DistTensor::Create(**graph, options);
    ASSERT_TRUE(mask.ok()) << mask.status().ToString();
    const Status refused = NodeSplit(**graph, *mask, {}).status();
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(refused.message(), HasSubstr("one value for each node"));
  }
  NodeShare impossible{.nodes = {GlobalNodeId(1), GlobalNodeId(2)}, .largest = 1};
  EXPECT_EQ(MakeNodeLoaderSource(**graph, impossible, {.seed_type = NodeTypeId(0), .batch_size = 1}).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::client
