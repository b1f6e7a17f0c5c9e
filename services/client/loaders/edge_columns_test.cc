// Edge columns in batches of EdgeDataLoader: for edges between two node types with parallel edges, for every kind of
// access to the partitions and every source of edges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "services/client/graph/split_reader.h"
#include "services/client/loaders/edge_data_loader.h"
#include "services/client/testing/ranks.h"
#include "services/client/testing/served_graph.h"
#include "services/client/testing/served_samplers.h"
#include "services/client/testing/written_partitions.h"
#include "services/graph/preprocess.h"
#include "services/sampler/testing/same_batch.h"

namespace espalier::client {
namespace {

using sampler::MiniBatch;
using testing::BatchesOfEpoch;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using testing::ServedGraph;

constexpr char kOrders[] = "orders";
constexpr uint64_t kCustomers = 10, kNumOrders = 120, kTrainOrders = 80;
constexpr uint32_t kShopSteps[] = {1, 9, 3};  // one for every 40 orders
constexpr uint32_t kEpoch = 2;
constexpr NodeTypeId kCustomer(0), kShop(1);

// Original ids of the endpoints of an order. Of 40 consecutive orders, four have the same endpoints.
uint64_t PickCustomer(int64_t order) { return static_cast<uint64_t>(order) % kCustomers; }
uint64_t PickShop(int64_t order) { return (PickCustomer(order) + kShopSteps[order / 40]) % kCustomers; }

// Orders of customers in shops, with reverse edges. The amount of edge i is i, its parts are i and -i. The split has
// every edge once, in another order: training edges by edge id, test edges by endpoints only.
graph::SourceGraph Orders() {
  graph::SourceGraph source;
  source.name = kOrders;
  source.schema = *graph::GraphSchema::Make({"customer", "shop"}, {{"customer", "orders", "shop"}});
  source.nodes.assign(2, {.count = kCustomers});
  std::vector<uint32_t> from, to;
  std::vector<int64_t> amounts;
  std::vector<float> parts;
  for (int64_t i = 0; i < static_cast<int64_t>(kNumOrders); ++i) {
    from.push_back(static_cast<uint32_t>(PickCustomer(i)));
    to.push_back(static_cast<uint32_t>(PickShop(i)));
    amounts.push_back(i);
    parts.insert(parts.end(), {static_cast<float>(i), static_cast<float>(-i)});
  }
  graph::EdgeSplit& split = source.edge_splits[kOrders][0];
  for (uint64_t i = 0; i < kNumOrders; ++i) {
    const uint64_t edge = i * 7 % kNumOrders;
    graph::EdgePairs& part = i < kTrainOrders ? split.train : split.test;
    part.sources.push_back(from[edge]);
    part.destinations.push_back(to[edge]);
    if (i < kTrainOrders) part.edge_ids.push_back(edge);
  }
  const auto count = static_cast<int64_t>(kNumOrders);
  source.edges.push_back({.sources = Tensor::FromVector(std::move(from)),
                          .destinations = Tensor::FromVector(std::move(to)),
                          .columns = {{"amount", Tensor::FromVector(std::move(amounts))},
                                      {"parts", Tensor::FromVector(std::move(parts), {count, 2})}},
                          .original_ids = {}});
  return *graph::Preprocess(std::move(source), {.add_reverse_edges = true}, 1);
}

// Training edges in the order of the split.
std::vector<int64_t> TrainAmounts() {
  std::vector<int64_t> amounts;
  for (uint64_t i = 0; i < kTrainOrders; ++i) amounts.push_back(static_cast<int64_t>(i * 7 % kNumOrders));
  return amounts;
}

// [example]
// Runs one epoch over this rank's orders with their labels, and returns the sum of the labels.
Result<int64_t> SumOfAmounts(const DistGraph& graph, EdgeTypeId orders, EdgeTypeId rev_orders) {
  EdgeLoaderOptions options{.batch_size = 24};
  options.negatives.count = 0;                       // the task is about the edges themselves
  options.reverse_types = {{orders, rev_orders}};    // exclude='reverse_types'
  options.sampling.layers = {{{10, 10}}, {{5, 5}}};  // by layer and edge type
  options.edge_columns = {"amount"};                 // g.edata['amount'][eids]

  ASSIGN_OR_RETURN(EdgeShare mine,
                   EdgeSplit(graph, orders, "orders", graph::SplitPartName::kTrain, {.columns = options.edge_columns}));
  const auto collate = [](MiniBatch batch, const Deadline&) -> Result<MiniBatch> {
    return batch;  // or tensors made of it
  };
  ASSIGN_OR_RETURN(const auto loader, DistEdgeDataLoader::Make(graph, std::move(mine), options, collate));
  RETURN_IF_ERROR(loader->StartEpoch(0));
  int64_t sum = 0;
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<MiniBatch> batch, loader->Next());
    if (!batch.has_value()) return sum;
    const sampler::LinkSeeds& edges = *batch->links;  // edge i: rows sources[i] and destinations[i] of the seeds
    const Tensor& amounts = edges.rows.at("amount");  // I64 [edges]
    for (size_t i = 0; i < edges.sources.size(); ++i) sum += amounts.values<int64_t>()[i];
  }
}
// [example]

struct OrdersReached {
  const char* how;  // "Shards" of this process, "Served" over gRPC, "Mapped" from files
  uint32_t num_partitions;
};
void PrintTo(const OrdersReached& reached, std::ostream* os) { *os << reached.how << reached.num_partitions; }

class EdgeColumnsTest : public ::testing::TestWithParam<OrdersReached> {
 protected:
  EdgeColumnsTest() : source_(Orders()), served_(source_, GetParam().num_partitions) {
    SessionOptions session;
    if (GetParam().how == std::string("Shards")) {
      // Owned by the test; outlives the graphs.
      partitions_ = {&served_.local_graph(), [](auto*) {}};
      return;
    }
    if (GetParam().how == std::string("Mapped")) {
      session.standalone.partitions_uri = testing::WritePartitions(source_, GetParam().num_partitions,
                                                                   folder_.path() + "/parts", testing::kPartitionKey);
    } else {
      session.addresses = served_.addresses();
      session.access = Access::kRpc;
    }
    auto connected = Connect(session);
    ESPALIER_CHECK(connected.ok()) << connected.status().ToString();
    partitions_ = connected->graph;
  }

  std::unique_ptr<DistGraph> MakeGraph(uint32_t rank, uint32_t world_size) const {
    return testing::GraphOfRank(partitions_, rank, world_size);
  }
  EdgeTypeId orders() const { return *source_.schema.FindEdgeType("orders"); }
  EdgeLoaderOptions Options() const {
    EdgeLoaderOptions options{.batch_size = 24, .reverse_types = {}, .sampling = {}};
    options.negatives.count = 0;
    options.reverse_types = {{orders(), *source_.schema.FindEdgeType("rev_orders")}};
    options.sampling.layers = {{std::vector<int32_t>(source_.schema.num_edge_types(), 3)}};
    options.sampling.seed = 4;
    options.edge_columns = {"amount", "parts"};
    return options;
  }
  std::vector<uint64_t> ToOriginalIds(NodeTypeId type, const std::vector<GlobalNodeId>& nodes) const {
    return shard::testing::OriginalIds(*partitions_, type, nodes);
  }

  // Returns the amounts of the edges of a batch after checking them against the endpoints.
  std::vector<int64_t> ReadAmounts(const MiniBatch& batch) const {
    const Tensor& amounts = batch.links->rows.at("amount");
    const Tensor& parts = batch.links->rows.at("parts");
    const size_t count = batch.links->sources.size();
    EXPECT_EQ(amounts.shape(), std::vector<int64_t>{static_cast<int64_t>(count)});
    EXPECT_EQ(parts.shape(), (std::vector<int64_t>{static_cast<int64_t>(count), 2}));
    const auto customers = ToOriginalIds(kCustomer, batch.nodes[kCustomer.value]);
    const auto shops = ToOriginalIds(kShop, batch.nodes[kShop.value]);
    const uint32_t num_customers = batch.layers.back().num_outputs[kCustomer.value];
    std::vector<int64_t> seen;
    for (size_t i = 0; i < count; ++i) {
      seen.push_back(amounts.values<int64_t>()[i]);
      EXPECT_EQ(customers.at(batch.links->sources[i]), PickCustomer(seen.back()));
      EXPECT_EQ(shops.at(batch.links->destinations[i] - num_customers), PickShop(seen.back()));
      EXPECT_EQ(parts.values<float>()[2 * i], static_cast<float>(seen.back()));
      EXPECT_EQ(parts.values<float>()[2 * i + 1], static_cast<float>(-seen.back()));
    }
    return seen;
  }
  // Returns the amounts of all batches of an epoch.
  template <class Edges>
  std::vector<int64_t> AmountsOfEpoch(const DistGraph& graph, const Edges& edges,
                                      const EdgeLoaderOptions& options) const {
    std::vector<int64_t> all;
    for (const MiniBatch& batch : BatchesOfEpoch(graph, edges, options, kEpoch)) {
      for (const int64_t amount : ReadAmounts(batch)) all.push_back(amount);
    }
    return all;
  }
  static std::vector<int64_t> Sorted(std::vector<int64_t> amounts) {
    std::sort(amounts.begin(), amounts.end());
    return amounts;
  }
  std::vector<GlobalEdgeId> AllIds() const {
    std::vector<GlobalEdgeId> ids;
    for (uint64_t id = kNumOrders; id > 0; --id) ids.emplace_back(id - 1);
    return ids;
  }

  const testing::TemporaryFolder folder_;
  const graph::SourceGraph source_;
  const ServedGraph served_;
  std::shared_ptr<sampler::PartitionedGraph> partitions_;
};

INSTANTIATE_TEST_SUITE_P(Everywhere, EdgeColumnsTest,
                         ::testing::Values(OrdersReached{"Shards", 1}, OrdersReached{"Shards", 4},
                                           OrdersReached{"Served", 3}, OrdersReached{"Mapped", 2}),
                         ::testing::PrintToStringParamName());

TEST_P(EdgeColumnsTest, BatchesOfSplitHaveColumnsOfNamedEdges) {
  const EdgesOfSplit split{{orders()}, kOrders};
  EdgeLoaderOptions options = Options();
  for (const auto kind : {sampler::NegativeKind::kUniform, sampler::NegativeKind::kJoint}) {
    options.negatives = {kind, kind == sampler::NegativeKind::kJoint ? 3u : 0u};
    options.shuffle = true;
    std::vector<int64_t> of_all_ranks;
    for (uint32_t rank = 0; rank < 3; ++rank) {
      for (const int64_t amount : AmountsOfEpoch(*MakeGraph(rank, 3), split, options)) of_all_ranks.push_back(amount);
    }
    EXPECT_EQ(Sorted(of_all_ranks), Sorted(TrainAmounts()));
    options.shuffle = false;
    EXPECT_THAT(AmountsOfEpoch(*MakeGraph(0, 1), split, options), ElementsAreArray(TrainAmounts()));
  }
}

TEST_P(EdgeColumnsTest, SharesOfSplitKeepColumns) {
  const EdgeLoaderOptions options = Options();
  for (const SplitBy by : {SplitBy::kEven, SplitBy::kLocality}) {
    for (const uint32_t world_size : {1u, 3u}) {
      std::vector<int64_t> kept, of_batches;
      for (uint32_t rank = 0; rank < world_size; ++rank) {
        const auto graph = MakeGraph(rank, world_size);
        const auto share = EdgeSplit(*graph, orders(), kOrders, graph::SplitPartName::kTrain,
                                     {.by = by, .edges_per_request = 7, .columns = options.edge_columns});
        ASSERT_TRUE(share.ok()) << share.status().ToString();
        ASSERT_EQ(static_cast<size_t>(share->edges.rows.at("amount").num_rows()), share->edges.size());
        for (const int64_t amount : share->edges.rows.at("amount").values<int64_t>()) kept.push_back(amount);
        for (const int64_t amount : AmountsOfEpoch(*graph, *share, options)) of_batches.push_back(amount);
      }
      if (by == SplitBy::kEven) {
        EXPECT_EQ(kept, TrainAmounts());
      }
      EXPECT_EQ(Sorted(kept), Sorted(TrainAmounts()));
      EXPECT_EQ(Sorted(of_batches), Sorted(TrainAmounts()));
    }
  }
}

TEST_P(EdgeColumnsTest, BatchesAndSharesOfSplitHaveIdsOfNamedEdges) {
  EdgeLoaderOptions options = Options();
  options.want_pair_ids = true;
  const EdgesOfSplit split{{orders()}, kOrders};
  std::vector<int64_t> of_shares;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    const auto graph = MakeGraph(rank, 2);
    const auto share =
        EdgeSplit(*graph, orders(), kOrders, graph::SplitPartName::kTrain, {.edges_per_request = 9, .want_ids = true});
    ASSERT_TRUE(share.ok()) << share.status().ToString();
    const auto amounts = graph->GatherEdgeRows(orders(), "amount", share->edges.ids);
    ASSERT_TRUE(amounts.ok()) << amounts.status().ToString();
    of_shares.insert(of_shares.end(), amounts->values<int64_t>().begin(), amounts->values<int64_t>().end());
    for (const auto& batches :
         {BatchesOfEpoch(*graph, split, options, kEpoch), BatchesOfEpoch(*graph, *share, options, kEpoch)}) {
      for (const MiniBatch& batch : batches) {
        ASSERT_EQ(batch.links->edge_ids.size(), batch.links->sources.size());
        const auto by_ids = graph->GatherEdgeRows(orders(), "amount", batch.links->edge_ids);
        ASSERT_TRUE(by_ids.ok()) << by_ids.status().ToString();
        EXPECT_THAT(ReadAmounts(batch), ElementsAreArray(by_ids->values<int64_t>()));
      }
    }
  }
  EXPECT_EQ(of_shares, TrainAmounts());
}

TEST_P(EdgeColumnsTest, SamplerProcessesSendTheSameRowsAndIds) {
  const testing::ServedSamplers samplers(partitions_, 2);
  const EdgesOfSplit split{{orders()}, kOrders};
  EdgeLoaderOptions options = Options();
  options.want_pair_ids = true;
  for (const auto kind : {sampler::NegativeKind::kUniform, sampler::NegativeKind::kJoint}) {
    options.negatives = {kind, kind == sampler::NegativeKind::kJoint ? 3u : 0u};
    for (const uint32_t world_size : {1u, 3u, 30u}) {  // the last ranks get no edges
      const uint32_t rank = world_size - 1;
      options.sampled_by = SampledBy::kThisProcess;
      const auto expected = BatchesOfEpoch(*MakeGraph(rank, world_size), split, options, kEpoch);
      options.sampled_by = SampledBy::kSamplers;
      const auto graph = testing::GraphOfRank(partitions_, rank, world_size, samplers.addresses());
      const auto sent = BatchesOfEpoch(*graph, split, options, kEpoch);
      ASSERT_EQ(sent.size(), 4u);  // 24 + 24 + 24 + 8 edges
      ASSERT_EQ(expected.size(), 4u);
      for (size_t step = 0; step < sent.size(); ++step) sampler::testing::ExpectSameBatch(sent[step], expected[step]);
    }
  }
}

TEST_P(EdgeColumnsTest, RefusesAmbiguousParallelEdges) {
  const auto graph = MakeGraph(0, 1);
  const auto refusal = [&](const EdgeSplitOptions& options) {
    return EdgeSplit(*graph, orders(), kOrders, graph::SplitPartName::kTest, options).status();
  };
  EXPECT_TRUE(refusal({}).ok());
  for (const Status& refused : {refusal({.columns = {"amount"}}), refusal({.want_ids = true})}) {
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(refused.message(), HasSubstr("name the split's edges by their numbers"));
  }
}

TEST_P(EdgeColumnsTest, TheExampleSeesEveryLabelOnce) {
  int64_t sum = 0, expected = 0;
  for (uint32_t rank = 0; rank < 3; ++rank) {
    const auto of_rank = SumOfAmounts(*MakeGraph(rank, 3), orders(), *source_.schema.FindEdgeType("rev_orders"));
    ASSERT_TRUE(of_rank.ok()) << of_rank.status().ToString();
    sum += *of_rank;
  }
  for (const int64_t amount : TrainAmounts()) expected += amount;
  EXPECT_EQ(sum, expected);
}

TEST_P(EdgeColumnsTest, ListsHaveColumnsOfTheirIds) {
  std::vector<int64_t> everything(kNumOrders);
  for (size_t i = 0; i < everything.size(); ++i) everything[i] = static_cast<int64_t>(i);
  const auto graph = MakeGraph(0, 1);
  const auto amounts = graph->GatherEdgeRows(orders(), "amount", AllIds());
  const auto list = MakeEdgeList(*graph, orders(), AllIds());
  ASSERT_TRUE(amounts.ok() && list.ok()) << amounts.status().ToString();
  EXPECT_EQ(Sorted({amounts->values<int64_t>().begin(), amounts->values<int64_t>().end()}), everything);
  EdgeLoaderOptions options = Options();
  options.shuffle = false;
  EXPECT_THAT(AmountsOfEpoch(*graph, *list, options), ElementsAreArray(amounts->values<int64_t>()));

  for (const std::vector<std::string>& kept : {std::vector<std::string>(), options.edge_columns}) {
    std::vector<int64_t> of_all_ranks;
    for (uint32_t rank = 0; rank < 2; ++rank) {
      const auto mine = MakeGraph(rank, 2);
      const auto share = EdgeSplit(*mine, orders(), AllIds(), {.edges_per_request = 11, .columns = kept});
      ASSERT_TRUE(share.ok()) << share.status().ToString();
      EXPECT_EQ(share->edges.rows.size(), kept.size());
      for (const int64_t amount : AmountsOfEpoch(*mine, *share, options)) of_all_ranks.push_back(amount);
    }
    EXPECT_THAT(of_all_ranks, ElementsAreArray(amounts->values<int64_t>()));
  }
}

// More ranks than edges, and empty lists: batches without edges have rows of the column's dtype and shape.
TEST_P(EdgeColumnsTest, NoEdgesHaveNoRows) {
  const auto graph = MakeGraph(150, 151);
  const auto share = EdgeSplit(*graph, orders(), kOrders, graph::SplitPartName::kTrain, {.columns = {"amount"}});
  ASSERT_TRUE(share.ok()) << share.status().ToString();
  EXPECT_EQ(share->edges.size(), 0u);
  EXPECT_EQ(share->edges.rows.at("amount").ToString(), "I64 [0]");
  EXPECT_TRUE(AmountsOfEpoch(*graph, *share, Options()).empty());
  EXPECT_TRUE(AmountsOfEpoch(*graph, EdgeShare{.edges = {.type = orders()}, .largest = 40}, Options()).empty());
}

TEST_P(EdgeColumnsTest, RefusesUnavailableColumnsAndIds) {
  const auto graph = MakeGraph(0, 1);
  const auto refusal = [&](const auto& edges, const EdgeLoaderOptions& options) {
    return DistEdgeDataLoader::Make(*graph, edges, options,
                                    [](MiniBatch batch, const Deadline&) -> Result<MiniBatch> { return batch; })
        .status();
  };
  EdgeLoaderOptions options = Options();
  const EdgesOfSplit split{{orders()}, kOrders};
  const auto share = EdgeSplit(*graph, orders(), kOrders, graph::SplitPartName::kTrain, {});
  ASSERT_TRUE(share.ok()) << share.status().ToString();
  EXPECT_EQ(refusal(*share, options).code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refusal(*share, options).message(), HasSubstr("neither ids nor rows of the edge column 'amount'"));
  EdgeShare short_rows = *share;
  short_rows.edges.rows["amount"] = Tensor::FromVector<int64_t>({1, 2});
  EXPECT_THAT(refusal(short_rows, options).message(), HasSubstr("as rows of the edge column 'amount'"));

  options.edge_columns.clear();
  options.want_pair_ids = true;
  EXPECT_THAT(refusal(*share, options).message(), HasSubstr("has no ids"));
  options.want_pair_ids = false;

  options.edge_columns = {"weather"};
  const auto list = MakeEdgeList(*graph, orders(), {GlobalEdgeId(3)});
  EXPECT_EQ(refusal(split, options).code(), StatusCode::kNotFound);
  EXPECT_EQ(refusal(*list, options).code(), StatusCode::kNotFound);
  EXPECT_THAT(refusal(*list, options).message(), HasSubstr("has no column 'weather'; it has 'amount', 'parts'"));
  const Status no_column =
      EdgeSplit(*graph, orders(), kOrders, graph::SplitPartName::kTrain, {.columns = {"weather"}}).status();
  EXPECT_EQ(no_column.code(), StatusCode::kNotFound);
  // Lists support attached tensors by edge id, splits support columns only.
  auto weather = DistTensor::Create(*graph, {.rows = sampler::RowSpace::Edges(orders()), .name = "measured"});
  ASSERT_TRUE(weather.ok() && weather->AttachAs("weather").ok()) << weather.status().ToString();
  EXPECT_TRUE(refusal(*list, options).ok());
  EXPECT_EQ(refusal(split, options).code(), StatusCode::kNotFound);

  options.edge_columns = {"amount"};
  const EdgesOfSplit two_types{{orders(), *source_.schema.FindEdgeType("rev_orders")}, kOrders};
  EXPECT_THAT(refusal(two_types, options).message(), HasSubstr("edges of one type"));
  options.edge_columns.clear();
  options.want_pair_ids = true;
  EXPECT_THAT(refusal(two_types, options).message(), HasSubstr("edges of one type"));
  options.edge_columns = {""};
  EXPECT_THAT(refusal(split, options).message(), HasSubstr("without a name"));
}

// Responses of the servers hold eight rows.
TEST(SplitReaderTest, ReadsWideRowsInSeveralRequests) {
  graph::PartitionBook book;
  std::vector<graph::Partition> partitions = shard::testing::MakeTestPartitions(Orders(), 2, 3, &book);
  auto limited = shard::OpenLocalGraph(book, std::move(partitions), {.max_edge_row_bytes = 64});
  ASSERT_TRUE(limited.ok()) << limited.status().ToString();
  const DistGraph graph(kOrders, *std::move(limited), Context());
  const SplitReader reader(graph, *graph.schema().FindEdgeType("orders"), kOrders, graph::SplitPartName::kTrain,
                           /*items_per_request=*/1000);
  std::vector<uint64_t> positions;  // not all edges, and not all edges of a query
  for (uint64_t i = 3; i < kTrainOrders; i += 1 + i % 2) positions.push_back(i);
  EXPECT_EQ(reader.ReadRows("parts", positions).status().code(), StatusCode::kResourceExhausted);
  const auto rows = reader.ReadRows("parts", positions, /*bytes_per_request=*/64);
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  ASSERT_EQ(rows->shape(), (std::vector<int64_t>{static_cast<int64_t>(positions.size()), 2}));
  for (size_t i = 0; i < positions.size(); ++i) {
    EXPECT_EQ(rows->values<float>()[2 * i], static_cast<float>(TrainAmounts()[positions[i]]));
  }
}

}  // namespace
}  // namespace espalier::client
