// Shares of edges of a named split, of ids and of a mask: they are disjoint and complete, balanced or local.
#include "services/client/splits/edge_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>

#include "services/client/testing/ranks.h"
#include "services/client/testing/served_graph.h"
#include "services/telemetry/metrics.h"

namespace espalier::client {
namespace {

using ::testing::HasSubstr;
using testing::ServedGraph;

constexpr EdgeTypeId kSplitType(0);
constexpr NodeTypeId kEndType(0);
constexpr auto kTrainPart = graph::SplitPartName::kTrain;

struct EdgeSplitCase {
  uint32_t partitions;
  uint32_t world_size;
  uint64_t num_nodes = 1500;
};

void PrintTo(const EdgeSplitCase& of, std::ostream* os) {
  *os << of.world_size << " ranks, " << of.partitions << " partitions";
}

using EdgeEndsList = std::vector<std::pair<GlobalNodeId, GlobalNodeId>>;

EdgeEndsList ListEnds(const EdgeList& edges) {
  EdgeEndsList ends;
  for (size_t i = 0; i < edges.size(); ++i) ends.emplace_back(edges.sources[i], edges.destinations[i]);
  return ends;
}

class EdgeSplitTest : public ::testing::TestWithParam<EdgeSplitCase> {
 protected:
  EdgeSplitTest() : source_(testing::SmallGraph(GetParam().num_nodes)), served_(source_, GetParam().partitions) {
    auto session = Connect({.addresses = served_.addresses()});
    ESPALIER_CHECK(session.ok()) << session.status().ToString();
    for (uint32_t rank = 0; rank < GetParam().world_size; ++rank) {
      graphs_.push_back(testing::GraphOfRank(session->graph, rank, GetParam().world_size));
    }
  }

  // Returns the shares of all ranks. split(graph) returns an EdgeSplit.
  template <class Split>
  std::vector<EdgeShare> Shares(Split split) const {
    std::vector<EdgeShare> shares;
    for (const auto& graph : graphs_) {
      Result<EdgeShare> share = split(*graph);
      ESPALIER_CHECK(share.ok()) << share.status().ToString();
      shares.push_back(*std::move(share));
    }
    return shares;
  }

  // Every third edge id in descending order, then three of them again.
  std::vector<GlobalEdgeId> SomeIds() const {
    std::vector<GlobalEdgeId> ids;
    for (uint64_t id = graphs_[0]->num_edges(kSplitType); id > 2; id -= 3) ids.emplace_back(id - 1);
    for (const size_t i : {5, 5, 0}) ids.push_back(ids[i]);
    return ids;
  }

  static void ExpectLargest(const std::vector<EdgeShare>& shares) {
    uint64_t largest = 0;
    for (const EdgeShare& share : shares) largest = std::max<uint64_t>(largest, share.edges.size());
    for (const EdgeShare& share : shares) EXPECT_EQ(share.largest, largest);
  }
  static void ExpectEven(const std::vector<EdgeShare>& shares) {
    ExpectLargest(shares);
    for (const EdgeShare& share : shares) EXPECT_GE(share.edges.size() + 1, share.largest);
  }
  static std::vector<GlobalEdgeId> Joined(const std::vector<EdgeShare>& shares) {
    std::vector<GlobalEdgeId> all;
    for (const EdgeShare& share : shares) all.insert(all.end(), share.edges.ids.begin(), share.edges.ids.end());
    return all;
  }
  // The endpoints are those of the ids.
  void ExpectEndsOfIds(const std::vector<EdgeShare>& shares) const {
    for (const EdgeShare& share : shares) {
      ASSERT_EQ(share.edges.ids.size(), share.edges.size());
      const Result<Tensor> ends = graphs_[0]->FindEdges(kSplitType, share.edges.ids);
      ASSERT_TRUE(ends.ok()) << ends.status().ToString();
      for (size_t i = 0; i < share.edges.size(); ++i) {
        EXPECT_EQ(share.edges.sources[i].value, static_cast<uint64_t>(ends->ValueAsInt(static_cast<int64_t>(i))));
        EXPECT_EQ(share.edges.destinations[i].value,
                  static_cast<uint64_t>(ends->ValueAsInt(static_cast<int64_t>(share.edges.size() + i))));
      }
    }
  }
  // Each rank has edges of its partitions only; the shares of ranks of the same partition differ by at most one.
  void ExpectAtHome(const std::vector<EdgeShare>& shares) const {
    const uint32_t partitions = GetParam().partitions, world_size = GetParam().world_size;
    const graph::PartitionBook& book = graphs_[0]->book();
    ExpectLargest(shares);
    std::vector<std::set<size_t>> sizes(partitions);
    for (uint32_t rank = 0; rank < world_size; ++rank) {
      for (const GlobalNodeId destination : shares[rank].edges.destinations) {
        const uint32_t owner = book.OwnerOf(kEndType, destination).value;
        EXPECT_EQ(world_size > partitions ? rank % partitions : rank,
                  owner % (world_size > partitions ? partitions : world_size));
      }
      if (world_size > partitions) sizes[rank % partitions].insert(shares[rank].edges.size());
    }
    for (const std::set<size_t>& of_partition : sizes) {
      if (of_partition.empty()) continue;
      EXPECT_LE(*of_partition.rbegin() - *of_partition.begin(), 1u);
    }
  }

  const graph::SourceGraph source_;
  ServedGraph served_;
  std::vector<std::unique_ptr<DistGraph>> graphs_;  // by rank
};

TEST_P(EdgeSplitTest, EvenSharesKeepInputOrder) {
  const graph::EdgePairs& train = source_.edge_splits.at("links").at(kSplitType.value).train;
  for (const uint64_t query : {uint64_t{7}, kEdgesPerRequest}) {
    const std::vector<EdgeShare> shares = Shares([&](const DistGraph& graph) {
      return EdgeSplit(graph, kSplitType, "links", kTrainPart, {.edges_per_request = query});
    });
    ExpectEven(shares);
    std::vector<uint64_t> sources, destinations;  // original ids
    for (const EdgeShare& share : shares) {
      EXPECT_EQ(share.edges.type, kSplitType);
      EXPECT_TRUE(share.edges.ids.empty());
      const auto from = shard::testing::OriginalIds(served_.local_graph(), kEndType, share.edges.sources);
      const auto to = shard::testing::OriginalIds(served_.local_graph(), kEndType, share.edges.destinations);
      sources.insert(sources.end(), from.begin(), from.end());
      destinations.insert(destinations.end(), to.begin(), to.end());
    }
    EXPECT_EQ(sources, train.sources);
    EXPECT_EQ(destinations, train.destinations);
  }
}

TEST_P(EdgeSplitTest, EvenSharesOfIdsAreTheListInItsOrder) {
  const std::vector<GlobalEdgeId> ids = SomeIds();
  const std::vector<EdgeShare> shares =
      Shares([&](const DistGraph& graph) { return EdgeSplit(graph, kSplitType, ids, {.edges_per_request = 1000}); });
  ExpectEven(shares);
  EXPECT_EQ(Joined(shares), ids);
  ExpectEndsOfIds(shares);
}

TEST_P(EdgeSplitTest, SharesOfMaskAreItsEdges) {
  for (const DType dtype : {DType::kBool, DType::kU8}) {
    const std::string name = std::string("mask-") + ToString(dtype);
    auto mask = DistTensor::Create(*graphs_[0], {.rows = RowSpace::Edges(kSplitType), .dtype = dtype, .name = name});
    ASSERT_TRUE(mask.ok()) << mask.status().ToString();
    std::vector<GlobalEdgeId> chosen;
    for (uint64_t id = 3; id < graphs_[0]->num_edges(kSplitType); id += 7) chosen.emplace_back(id);
    Tensor ones = Tensor::Zeros(dtype, {static_cast<int64_t>(chosen.size())});
    std::fill_n(ones.mutable_bytes(), chosen.size(), std::byte{1});
    ASSERT_TRUE(mask->WriteRows(ToRowIds(chosen), ones).ok());

    const std::vector<EdgeShare> even =
        Shares([&](const DistGraph& graph) { return EdgeSplit(graph, *mask, {.edges_per_request = 6000}); });
    ExpectEven(even);
    EXPECT_EQ(Joined(even), chosen);
    ExpectEndsOfIds(even);

    const std::vector<EdgeShare> local =
        Shares([&](const DistGraph& graph) { return EdgeSplit(graph, *mask, {.by = SplitBy::kLocality}); });
    ExpectAtHome(local);
    std::vector<GlobalEdgeId> all = Joined(local);
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, chosen);
  }
}

TEST_P(EdgeSplitTest, LocalSharesHaveOwnedDestinations) {
  const std::vector<EdgeShare> of_split = Shares([&](const DistGraph& graph) {
    return EdgeSplit(graph, kSplitType, "links", kTrainPart, {.by = SplitBy::kLocality, .edges_per_request = 11});
  });
  ExpectAtHome(of_split);
  const auto whole = ReadSplitEdges(*graphs_[0], kSplitType, "links", kTrainPart, 13);
  ASSERT_TRUE(whole.ok()) << whole.status().ToString();
  EdgeEndsList all, expected = ListEnds(*whole);
  for (const EdgeShare& share : of_split) {
    const EdgeEndsList ends = ListEnds(share.edges);
    all.insert(all.end(), ends.begin(), ends.end());
  }
  std::sort(all.begin(), all.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(all, expected);

  std::vector<GlobalEdgeId> ids = SomeIds();
  const std::vector<EdgeShare> of_ids =
      Shares([&](const DistGraph& graph) { return EdgeSplit(graph, kSplitType, ids, {.by = SplitBy::kLocality}); });
  ExpectAtHome(of_ids);
  ExpectEndsOfIds(of_ids);
  std::vector<GlobalEdgeId> joined = Joined(of_ids);
  std::sort(joined.begin(), joined.end());
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(joined, ids);
}

// Includes more ranks than edges (26).
INSTANTIATE_TEST_SUITE_P(Ranks, EdgeSplitTest,
                         ::testing::Values(EdgeSplitCase{1, 1}, EdgeSplitCase{1, 4}, EdgeSplitCase{3, 2},
                                           EdgeSplitCase{2, 5}, EdgeSplitCase{2, 30, 200}));

// Two servers; a rank queries 50 of 200 edges, not all of them.
TEST(EdgeSplitReadsTest, RankReadsItsRangeOfSplit) {
  telemetry::MetricRegistry metrics;
  const ServedGraph served(testing::SmallGraph(), 2, {.metrics = &metrics});
  SessionOptions options;
  options.addresses = served.addresses();
  options.access = Access::kRpc;
  const auto session = Connect(options);
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const double before = testing::AnsweredCalls(metrics, "SeedsOfStep");
    const auto graph = testing::GraphOfRank(session->graph, rank, 4);
    const auto share = EdgeSplit(*graph, kSplitType, "links", kTrainPart, {.edges_per_request = 7});
    ASSERT_TRUE(share.ok()) << share.status().ToString();
    EXPECT_EQ(share->edges.size(), 50u);
    const double calls = testing::AnsweredCalls(metrics, "SeedsOfStep") - before;
    EXPECT_GT(calls, 0) << "rank " << rank;
    EXPECT_LE(calls, 2 * (50 / 7 + 2)) << "rank " << rank;
  }
}

// The mask has the last five edges of each of four partitions.
TEST(EdgeSplitReadsTest, RankReadsMaskFromPartitionsOfItsShare) {
  telemetry::MetricRegistry metrics;
  const ServedGraph served(testing::SmallGraph(), 4, {.metrics = &metrics});
  SessionOptions options;
  options.addresses = served.addresses();
  options.access = Access::kRpc;
  const auto session = Connect(options);
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  const auto whole = testing::GraphOfRank(session->graph, 0, 1);
  const std::span<const uint64_t> first = whole->book().EdgeFirst(kSplitType);
  auto mask = DistTensor::Create(*whole, {.rows = RowSpace::Edges(kSplitType), .dtype = DType::kU8});
  ASSERT_TRUE(mask.ok()) << mask.status().ToString();
  std::vector<GlobalEdgeId> chosen;
  for (uint32_t p = 0; p < 4; ++p) {
    for (uint64_t edge = first[p + 1] - 5; edge < first[p + 1]; ++edge) chosen.emplace_back(edge);
  }
  ASSERT_TRUE(mask->WriteRows(ToRowIds(chosen), Tensor::FromVector(std::vector<uint8_t>(20, 1))).ok());
  for (const SplitBy by : {SplitBy::kEven, SplitBy::kLocality}) {
    for (uint32_t rank = 0; rank < 4; ++rank) {
      const double before = testing::AnsweredCalls(metrics, "Read");
      const auto graph = testing::GraphOfRank(session->graph, rank, 4);
      const auto share = EdgeSplit(*graph, *mask, {.by = by, .edges_per_request = 100});
      ASSERT_TRUE(share.ok()) << share.status().ToString();
      EXPECT_EQ(share->edges.ids, std::vector(chosen.begin() + 5 * rank, chosen.begin() + 5 * (rank + 1)));
      EXPECT_EQ(testing::AnsweredCalls(metrics, "Read") - before,
                static_cast<double>((first[rank + 1] - first[rank] + 99) / 100));
    }
  }
}

TEST(EdgeSplitErrorTest, NamesProblem) {
  const ServedGraph served(testing::SmallGraph(), 2);
  Context context;
  context.session.addresses = served.addresses();
  const auto graph = DistGraph::Open(context);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  const auto split = [&](EdgeTypeId type, const std::string& name, uint64_t query) {
    return EdgeSplit(**graph, type, name, kTrainPart, {.edges_per_request = query}).status();
  };
  EXPECT_EQ(split(kSplitType, "no-such", 1).code(), StatusCode::kNotFound);
  EXPECT_THAT(split(kSplitType, "no-such", 1).message(), HasSubstr("no-such"));
  EXPECT_EQ(split(kSplitType, "links", 0).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(split(EdgeTypeId(9), "links", 1).message(), HasSubstr("edge type 9 does not exist"));

  const std::vector<GlobalEdgeId> beyond = {GlobalEdgeId(0), GlobalEdgeId((*graph)->num_edges(kSplitType))};
  EXPECT_THAT(EdgeSplit(**graph, kSplitType, beyond, {}).status().message(), HasSubstr("does not exist; there are"));
  EXPECT_EQ(MakeEdgeList(**graph, kSplitType, beyond).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeEdgeList(**graph, EdgeTypeId(9), {}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(MakeEdgeList(**graph, kSplitType, {}, 0).status().code(), StatusCode::kInvalidArgument);

  const auto refusal = [&](const DistTensorOptions& options) {
    const auto mask = DistTensor::Create(**graph, options);
    ESPALIER_CHECK(mask.ok()) << mask.status().ToString();
    return EdgeSplit(**graph, *mask, {}).status();
  };
  const std::vector<DistTensorOptions> no_masks = {
      {.rows = RowSpace::Nodes(kEndType), .dtype = DType::kBool},
      {.rows = RowSpace::Edges(kSplitType), .dtype = DType::kF32},
      {.rows = RowSpace::Edges(kSplitType), .row_shape = {2}, .dtype = DType::kBool}};
  for (const DistTensorOptions& options : no_masks) {
    EXPECT_EQ(refusal(options).code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(refusal(options).message(), HasSubstr("one value for each edge"));
  }
}

}  // namespace
}  // namespace espalier::client
