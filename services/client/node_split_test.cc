// Shares of a split: together the split, balanced or at home, and epochs of equal length.
#include "services/client/node_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "services/client/node_data_loader.h"
#include "services/client/testing/ranks.h"
#include "services/client/testing/served_graph.h"

namespace espalier::client {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using testing::ServedGraph;
using ::testing::SizeIs;

struct Ranks {
  uint32_t partitions;
  uint32_t world_size;
};

void PrintTo(const Ranks& ranks, std::ostream* os) {
  *os << ranks.world_size << " ranks, " << ranks.partitions << " partitions";
}

class NodeSplitTest : public ::testing::TestWithParam<Ranks> {
 protected:
  NodeSplitTest() : served_(testing::SmallGraph(), GetParam().partitions) {
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

  std::vector<NodeShare> Shares(const NodeSplitOptions& options) {
    std::vector<NodeShare> shares;
    for (const auto& graph : graphs_) {
      auto share = NodeSplit(*graph, kType, split_, graph::SplitPartName::kTrain, options);
      ESPALIER_CHECK(share.ok()) << share.status().ToString();
      shares.push_back(*std::move(share));
    }
    return shares;
  }

  static constexpr NodeTypeId kType{0};
  ServedGraph served_;
  std::vector<std::unique_ptr<DistGraph>> graphs_;  // by rank
  std::string split_;
  std::vector<GlobalNodeId> nodes_;  // of the split, by original id
};

uint64_t LargestOf(const std::vector<NodeShare>& shares) {
  uint64_t largest = 0;
  for (const NodeShare& share : shares) largest = std::max<uint64_t>(largest, share.nodes.size());
  return largest;
}

TEST_P(NodeSplitTest, EvenSharesAreTheSplitInItsOrder) {
  for (const uint64_t question : {uint64_t{7}, uint64_t{1} << 20}) {
    const std::vector<NodeShare> shares = Shares({.nodes_per_question = question});
    std::vector<GlobalNodeId> all;
    for (const NodeShare& share : shares) {
      EXPECT_EQ(share.largest, LargestOf(shares));
      EXPECT_GE(share.nodes.size() + 1, share.largest);
      all.insert(all.end(), share.nodes.begin(), share.nodes.end());
    }
    EXPECT_THAT(all, ElementsAreArray(nodes_));
  }
}

TEST_P(NodeSplitTest, LocalSharesAreAtHomeWithTheirOwners) {
  const std::vector<NodeShare> shares = Shares({.by = SplitBy::kLocality, .nodes_per_question = 11});
  const graph::PartitionBook& book = graphs_[0]->book();
  const auto [partitions, world_size] = GetParam();
  std::multiset<GlobalNodeId> all;
  std::vector<std::set<size_t>> sizes(partitions);  // of the ranks that share a partition
  for (uint32_t rank = 0; rank < world_size; ++rank) {
    const NodeShare& share = shares[rank];
    EXPECT_EQ(share.largest, LargestOf(shares));
    all.insert(share.nodes.begin(), share.nodes.end());
    for (const GlobalNodeId node : share.nodes) {
      const uint32_t owner = book.OwnerOf(kType, node).value;
      EXPECT_EQ(world_size > partitions ? rank % partitions : rank,
                owner % (world_size > partitions ? partitions : world_size));
    }
    if (world_size > partitions) sizes[rank % partitions].insert(share.nodes.size());
  }
  EXPECT_THAT(all, ElementsAreArray(std::multiset<GlobalNodeId>(nodes_.begin(), nodes_.end())));
  for (const std::set<size_t>& of_partition : sizes) {
    if (of_partition.empty()) continue;
    EXPECT_LE(*of_partition.rbegin() - *of_partition.begin(), 1u);
  }
}

TEST_P(NodeSplitTest, EpochsAreEquallyLongOnEveryRank) {
  for (const SplitBy by : {SplitBy::kEven, SplitBy::kLocality}) {
    const std::vector<NodeShare> shares = Shares({.by = by});
    NodeLoaderOptions options{.seed_type = kType, .batch_size = 8};
    options.sampling.layers = {{{3}}};
    std::multiset<GlobalNodeId> seen;
    for (uint32_t rank = 0; rank < shares.size(); ++rank) {
      auto loader =
          DistNodeDataLoader::Make(*graphs_[rank], shares[rank], options,
                                   [](sampler::MiniBatch batch) -> Result<sampler::MiniBatch> { return batch; });
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
      EXPECT_EQ(batches, (LargestOf(shares) + 7) / 8) << "rank " << rank;
    }
    EXPECT_THAT(seen, ElementsAreArray(std::multiset<GlobalNodeId>(nodes_.begin(), nodes_.end())));
  }
}

// More ranks than nodes (150) among them.
INSTANTIATE_TEST_SUITE_P(Ranks, NodeSplitTest,
                         ::testing::Values(Ranks{1, 1}, Ranks{1, 4}, Ranks{3, 2}, Ranks{2, 5}, Ranks{4, 4},
                                           Ranks{2, 160}));

class NodeSplitErrorTest : public ::testing::Test {
 protected:
  ServedGraph served_{testing::SmallGraph(), 2};
};

TEST_F(NodeSplitErrorTest, SaysWhatIsWrong) {
  Context context;
  context.session.addresses = served_.addresses();
  const auto graph = DistGraph::Open(context);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const auto missing = NodeSplit(**graph, NodeTypeId(0), "no-such", graph::SplitPartName::kTrain, {});
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.status().ToString(), HasSubstr("no-such"));
  const std::string split = served_.local_graph().description().splits.front().split;
  EXPECT_EQ(
      NodeSplit(**graph, NodeTypeId(0), split, graph::SplitPartName::kTrain, {.nodes_per_question = 0}).status().code(),
      StatusCode::kInvalidArgument);
  NodeShare impossible{.nodes = {GlobalNodeId(1), GlobalNodeId(2)}, .largest = 1};
  EXPECT_EQ(MakeNodeLoaderSource(**graph, impossible, {.seed_type = NodeTypeId(0), .batch_size = 1}).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::client
