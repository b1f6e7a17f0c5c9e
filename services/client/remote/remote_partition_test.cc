// Conformance tests for PartitionAccess: a shard in this process and a server over gRPC, whole or in pieces, give the
// same results.
#include "services/client/remote/remote_partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "services/base/philox.h"
#include "services/base/testing/soon.h"
#include "services/client/remote/sample_pieces.h"
#include "services/client/testing/served_graph.h"

namespace espalier::client {
namespace {

using testing::Await;
using testing::AwaitStatus;
using ::testing::HasSubstr;
using testing::ServedGraph;

void ExpectEqual(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.num_elements(), b.num_elements());
  for (int64_t i = 0; i < a.num_elements(); ++i) ASSERT_EQ(a.ValueAsInt(i), b.ValueAsInt(i)) << i;
}

// Implementation: the shard, a server with one call per query, a server with many small pieces.
enum class Who { kShard, kServer, kServerInPieces };

struct Case {
  const char* name;
  Who who;
  bool typed;
};
void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }

// Returns the graph with a timestamp for every edge.
graph::SourceGraph WithEdgeTimes(graph::SourceGraph source) {
  PhiloxStream random(5, 2);
  for (graph::EdgeSet& edges : source.edges) {
    std::vector<int64_t> times(edges.num_edges());
    for (int64_t& time : times) time = random.NextBelow(50);
    edges.columns["when"] = Tensor::FromVector(std::move(times));
  }
  return source;
}

class PartitionAccessTest : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr uint32_t kPartition = 1;

  PartitionAccessTest()
      : served_(WithEdgeTimes(GetParam().typed ? testing::SmallTypedGraph() : testing::SmallGraph()), 2,
                {.build = {.time_column = "when", .source_columns = {sampler::kOriginalIdColumn}}}),
        shard_(served_.local().shards[kPartition]) {
    switch (GetParam().who) {
      case Who::kShard: access_ = shard_; break;
      case Who::kServer: access_ = served_.Remote(kPartition); break;
      case Who::kServerInPieces: access_ = served_.Remote(kPartition, /*reply_bytes=*/256); break;
    }
  }

  const graph::PartitionBook& book() const { return served_.local().book; }
  EdgeTypeId edge_type() const { return EdgeTypeId(static_cast<uint16_t>(book().schema().num_edge_types() - 1)); }
  NodeTypeId destination_type() const { return book().schema().DestinationOf(edge_type()); }
  std::vector<LocalNodeId> AllOwned(NodeTypeId type) const {
    std::vector<LocalNodeId> nodes(book().NumOwnedNodes(PartitionId(kPartition), type));
    for (size_t i = 0; i < nodes.size(); ++i) nodes[i] = LocalNodeId(static_cast<uint32_t>(i));
    return nodes;
  }
  sampler::PartitionHopQuery QueryOfAll(int32_t fanout) const {
    sampler::PartitionHopQuery query{.seed = 3, .at = {.epoch = 1, .step = 2, .hop = 1}};
    for (uint16_t type = 0; type < book().schema().num_edge_types(); ++type) {
      const NodeTypeId destination = book().schema().DestinationOf(EdgeTypeId(type));
      query.relations.push_back({EdgeTypeId(type), fanout, AllOwned(destination)});
    }
    return query;
  }
  void ExpectSameSample(const sampler::PartitionHopQuery& query) {
    const auto expected =
        Await<sampler::PartitionHopSample>([&](auto done) { shard_->SampleInEdges(query, Soon(), done); });
    const auto sampled =
        Await<sampler::PartitionHopSample>([&](auto done) { access_->SampleInEdges(query, Soon(), done); });
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    ASSERT_TRUE(sampled.ok()) << sampled.status().ToString();
    ASSERT_EQ(sampled->relations.size(), query.relations.size());
    for (size_t r = 0; r < query.relations.size(); ++r) {
      ExpectEqual(sampled->relations[r].counts, expected->relations[r].counts);
      ExpectEqual(sampled->relations[r].sources, expected->relations[r].sources);
      ExpectEqual(sampled->relations[r].edge_ids, expected->relations[r].edge_ids);
    }
  }
  Status Gather(NodeTypeId type, const std::string& column, const std::vector<LocalNodeId>& nodes, size_t row_bytes,
                std::vector<std::byte>* rows) {
    std::vector<uint32_t> positions(nodes.size());
    std::iota(positions.rbegin(), positions.rend(), 0u);  // reversed, to test that positions are used
    rows->resize(nodes.size() * row_bytes);
    const sampler::RowSink sink{rows->data(), row_bytes, positions};
    return AwaitStatus([&](auto done) { access_->GatherRows(type, column, nodes, sink, Soon(), done); });
  }

  ServedGraph served_;
  std::shared_ptr<sampler::PartitionAccess> shard_;
  std::shared_ptr<sampler::PartitionAccess> access_;
};

INSTANTIATE_TEST_SUITE_P(All, PartitionAccessTest,
                         ::testing::Values(Case{"Shard", Who::kShard, false}, Case{"Server", Who::kServer, false},
                                           Case{"Pieces", Who::kServerInPieces, false},
                                           Case{"TypedServer", Who::kServer, true},
                                           Case{"TypedPieces", Who::kServerInPieces, true}),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(PartitionAccessTest, HasPartitionId) { EXPECT_EQ(access_->partition(), PartitionId(kPartition)); }

TEST_P(PartitionAccessTest, DrawsSameInEdges) {
  for (const int32_t fanout : {1, 5, sampler::kFullNeighborhood}) ExpectSameSample(QueryOfAll(fanout));
}

TEST_P(PartitionAccessTest, SamplesByEveryMethodUpToATimeAndForWalks) {
  for (const auto method : {sampler::DrawMethod::kLabor, sampler::DrawMethod::kLast, sampler::DrawMethod::kNeighbor}) {
    sampler::PartitionHopQuery query = QueryOfAll(4);
    query.draw.method = method;
    query.want_edge_ids = true;
    ExpectSameSample(query);
    query.draw.layer_dependency = method == sampler::DrawMethod::kLabor;
    query.draw.time_column = "when";
    for (sampler::PartitionRelationQuery& relation : query.relations) {
      for (size_t i = 0; i < relation.destinations.size(); ++i)
        relation.times.push_back(static_cast<int64_t>(i % 60) - 5);
    }
    ExpectSameSample(query);
  }
  sampler::PartitionHopQuery walks = QueryOfAll(1);
  walks.draw.replace = true;
  for (sampler::PartitionRelationQuery& relation : walks.relations) {
    for (size_t i = 0; i < relation.destinations.size(); ++i) relation.walks.push_back(i << 33);
  }
  ExpectSameSample(walks);
}

TEST_P(PartitionAccessTest, RefusesTimesAndWalksThatDoNotFit) {
  const auto code_of = [&](const sampler::PartitionHopQuery& query) {
    return Await<sampler::PartitionHopSample>([&](auto done) { access_->SampleInEdges(query, Soon(), done); })
        .status()
        .code();
  };
  sampler::PartitionHopQuery query = QueryOfAll(2);
  query.relations.back().times = {1};
  EXPECT_EQ(code_of(query), StatusCode::kInvalidArgument);
  query = QueryOfAll(2);
  query.draw.time_column = "when";
  EXPECT_EQ(code_of(query), StatusCode::kInvalidArgument);
  query = QueryOfAll(2);
  query.relations.back().walks = {1};
  EXPECT_EQ(code_of(query), StatusCode::kInvalidArgument);
  query = QueryOfAll(2);
  query.draw.method = sampler::DrawMethod::kLabor;
  query.draw.replace = true;
  EXPECT_EQ(code_of(query), StatusCode::kInvalidArgument);
}

TEST_P(PartitionAccessTest, DrawsTheSameWithReplacementAndEdgeIds) {
  sampler::PartitionHopQuery query = QueryOfAll(4);
  query.draw.replace = true;
  query.want_edge_ids = true;
  ExpectSameSample(query);
}

TEST_P(PartitionAccessTest, DrawsTheSameByWeights) {
  sampler::PartitionHopQuery query = QueryOfAll(4);
  query.draw.weight_column = "weight";
  if (!GetParam().typed) return ExpectSameSample(query);
  // The typed graph has no such column: local and remote errors are equal.
  const auto expected =
      Await<sampler::PartitionHopSample>([&](auto done) { shard_->SampleInEdges(query, Soon(), done); });
  const auto sampled =
      Await<sampler::PartitionHopSample>([&](auto done) { access_->SampleInEdges(query, Soon(), done); });
  ASSERT_FALSE(sampled.ok());
  EXPECT_EQ(sampled.status().code(), expected.status().code());
}

TEST_P(PartitionAccessTest, AcceptsRelationWithoutDestinations) {
  sampler::PartitionHopQuery query = QueryOfAll(2);
  query.relations.front().destinations.clear();
  ExpectSameSample(query);
}

TEST_P(PartitionAccessTest, GathersRows) {
  std::vector<LocalNodeId> nodes = AllOwned(destination_type());
  nodes.push_back(nodes.front());  // repetitions are allowed
  const Tensor& column =
      served_.local().shards[kPartition]->data().nodes[destination_type().value].columns.at("node-feat");
  std::vector<std::byte> rows;

  const Status gathered = Gather(destination_type(), "node-feat", nodes, column.row_bytes(), &rows);

  ASSERT_TRUE(gathered.ok()) << gathered.ToString();
  for (size_t i = 0; i < nodes.size(); ++i) {
    const std::byte* expected = column.bytes() + nodes[i].value * column.row_bytes();
    const std::byte* found = rows.data() + (nodes.size() - 1 - i) * column.row_bytes();
    ASSERT_TRUE(std::equal(expected, expected + column.row_bytes(), found)) << i;
  }
}

TEST_P(PartitionAccessTest, GathersNoRows) {
  std::vector<std::byte> rows;
  EXPECT_TRUE(Gather(destination_type(), sampler::kOriginalIdColumn, {}, 8, &rows).ok());
  EXPECT_EQ(Gather(destination_type(), "no-such-column", {}, 8, &rows).code(), StatusCode::kNotFound);
}

TEST_P(PartitionAccessTest, NamesErrorsOfGather) {
  std::vector<std::byte> rows;
  const std::vector<LocalNodeId> nodes = AllOwned(destination_type());
  const Status unknown = Gather(destination_type(), "no-such-column", nodes, 8, &rows);
  EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
  EXPECT_THAT(unknown.message(), HasSubstr("node-feat"));
  EXPECT_EQ(Gather(destination_type(), "node-feat", nodes, 3, &rows).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Gather(NodeTypeId(77), "node-feat", nodes, 16, &rows).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Gather(destination_type(), sampler::kOriginalIdColumn, {LocalNodeId(1u << 30)}, 8, &rows).code(),
            StatusCode::kInvalidArgument);
}

TEST_P(PartitionAccessTest, NamesErrorsOfSample) {
  const auto code_of = [&](const sampler::PartitionHopQuery& query) {
    return Await<sampler::PartitionHopSample>([&](auto done) { access_->SampleInEdges(query, Soon(), done); })
        .status()
        .code();
  };
  sampler::PartitionHopQuery query = QueryOfAll(2);
  query.relations.front().destinations.front() = LocalNodeId(0xffffffffu);
  EXPECT_EQ(code_of(query), StatusCode::kInvalidArgument);
  query = QueryOfAll(2);
  query.draw.weight_column = "no-such-column";
  EXPECT_THAT(code_of(query), ::testing::AnyOf(StatusCode::kNotFound, StatusCode::kInvalidArgument));
  query = QueryOfAll(0);
  EXPECT_EQ(code_of(query), StatusCode::kInvalidArgument);
  query = QueryOfAll(-2);
  EXPECT_EQ(code_of(query), StatusCode::kInvalidArgument);
}

TEST_P(PartitionAccessTest, FindsItsSeedsOfAStep) {
  const auto& split = served_.local_graph().description().splits.front();
  const sampler::SeedQuery query{
      .node_type = split.node_type, .split = split.split, .seed = 9, .epoch = 2, .step = 1, .batch_size = 20};
  const auto expected = Await<sampler::PartitionSeeds>([&](auto done) { shard_->SeedsOfStep(query, Soon(), done); });
  const auto seeds = Await<sampler::PartitionSeeds>([&](auto done) { access_->SeedsOfStep(query, Soon(), done); });
  ASSERT_TRUE(expected.ok() && seeds.ok()) << seeds.status().ToString();
  ASSERT_GT(seeds->positions.num_elements(), 0);
  ExpectEqual(seeds->positions, expected->positions);
  ExpectEqual(seeds->nodes, expected->nodes);

  sampler::SeedQuery unknown = query;
  unknown.split = "no-such-split";
  const auto none = Await<sampler::PartitionSeeds>([&](auto done) { access_->SeedsOfStep(unknown, Soon(), done); });
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
}

TEST_P(PartitionAccessTest, FindsItsEdgesOfAStep) {
  const auto& split = served_.local_graph().description().edge_splits.front();
  sampler::SeedQuery query{.split = split.split, .seed = 9, .epoch = 2, .step = 1, .batch_size = 80};
  query.edge_types = {split.edge_type};
  const auto expected = Await<sampler::PartitionSeeds>([&](auto done) { shard_->SeedsOfStep(query, Soon(), done); });
  const auto edges = Await<sampler::PartitionSeeds>([&](auto done) { access_->SeedsOfStep(query, Soon(), done); });
  ASSERT_TRUE(expected.ok() && edges.ok()) << edges.status().ToString();
  ASSERT_GT(edges->positions.num_elements(), 0);
  ExpectEqual(edges->positions, expected->positions);
  ExpectEqual(edges->nodes, expected->nodes);
  ExpectEqual(edges->sources, expected->sources);
  EXPECT_TRUE(edges->rows.empty());

  query.edge_column = "rating";
  const auto labels = Await<sampler::PartitionSeeds>([&](auto done) { shard_->SeedsOfStep(query, Soon(), done); });
  const auto labeled = Await<sampler::PartitionSeeds>([&](auto done) { access_->SeedsOfStep(query, Soon(), done); });
  ASSERT_TRUE(labels.ok() && labeled.ok()) << labeled.status().ToString();
  ExpectEqual(labeled->positions, expected->positions);
  ExpectEqual(labeled->rows, labels->rows);
  EXPECT_EQ(labeled->rows.num_rows(), expected->positions.num_elements());
  std::vector<uint32_t> third;  // of the positions of all partitions' edges
  for (uint32_t position = 0; position < 80; position += 3) third.push_back(position);
  query.positions = third;
  const auto some = Await<sampler::PartitionSeeds>([&](auto done) { access_->SeedsOfStep(query, Soon(), done); });
  ASSERT_TRUE(some.ok()) << some.status().ToString();
  int64_t next = 0;
  for (int64_t i = 0; i < labels->positions.num_elements(); ++i) {
    if (labels->positions.ValueAsInt(i) % 3 != 0) continue;
    ASSERT_LT(next, some->rows.num_rows());
    EXPECT_EQ(some->positions.ValueAsInt(next), labels->positions.ValueAsInt(i));
    EXPECT_EQ(some->nodes.ValueAsInt(next), labels->nodes.ValueAsInt(i));
    EXPECT_EQ(some->rows.ValueAsInt(next), labels->rows.ValueAsInt(i));
    ++next;
  }
  EXPECT_GT(next, 0);
  EXPECT_EQ(some->rows.num_rows(), next);
  query.positions = {3, 2};
  const auto falling = Await<sampler::PartitionSeeds>([&](auto done) { access_->SeedsOfStep(query, Soon(), done); });
  EXPECT_EQ(falling.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(falling.status().message(), HasSubstr("3 precedes 2"));
  query.positions = {2, 80};
  const auto beyond = Await<sampler::PartitionSeeds>([&](auto done) { access_->SeedsOfStep(query, Soon(), done); });
  EXPECT_THAT(beyond.status().message(), HasSubstr("position 80 is out of range [0, 80)"));
  query.positions.reset();

  query.edge_column = "no-such-column";
  const auto other = Await<sampler::PartitionSeeds>([&](auto done) { access_->SeedsOfStep(query, Soon(), done); });
  EXPECT_EQ(other.status().code(), StatusCode::kNotFound);

  query.edge_column.clear();
  query.want_edge_ids = true;  // not available for pairs with parallel edges
  const auto ids = Await<sampler::PartitionSeeds>([&](auto done) { shard_->SeedsOfStep(query, Soon(), done); });
  const auto far_ids = Await<sampler::PartitionSeeds>([&](auto done) { access_->SeedsOfStep(query, Soon(), done); });
  EXPECT_EQ(far_ids.status().code(), ids.status().code());
  if (ids.ok() && far_ids.ok()) ExpectEqual(far_ids->edge_ids, ids->edge_ids);

  query.want_edge_ids = false;
  query.split = "no-such-split";
  const auto none = Await<sampler::PartitionSeeds>([&](auto done) { access_->SeedsOfStep(query, Soon(), done); });
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
}

TEST_P(PartitionAccessTest, DrawsTheSameWithoutExcludedEdges) {
  sampler::PartitionHopQuery query = QueryOfAll(5);
  const auto drawn = Await<sampler::PartitionHopSample>([&](auto done) { shard_->SampleInEdges(query, Soon(), done); });
  ASSERT_TRUE(drawn.ok());
  // The first drawn in-edge of every other destination.
  for (size_t r = 0; r < query.relations.size(); ++r) {
    int64_t at = 0;
    for (uint32_t v = 0; v < query.relations[r].destinations.size(); ++v) {
      const uint32_t count = drawn->relations[r].counts.values<uint32_t>()[v];
      if (count > 0 && v % 2 == 0) {
        query.relations[r].excluded_destinations.push_back(query.relations[r].destinations[v]);
        query.relations[r].excluded_sources.emplace_back(
            static_cast<uint64_t>(drawn->relations[r].sources.ValueAsInt(at)));
      }
      at += count;
    }
  }
  ExpectSameSample(query);
}

TEST_P(PartitionAccessTest, LooksUpOriginalIds) {
  const graph::DirectorySlice& slice = served_.local().shards[kPartition]->data().directory[destination_type().value];
  std::vector<OriginalNodeId> ids;
  for (int64_t i = 0; i < slice.global_ids.num_elements(); i += 3)
    ids.emplace_back(slice.first + static_cast<uint64_t>(i));

  const auto found = Await<Tensor>([&](auto done) { access_->ToGlobalIds(destination_type(), ids, Soon(), done); });

  ASSERT_TRUE(found.ok()) << found.status().ToString();
  for (size_t i = 0; i < ids.size(); ++i) {
    ASSERT_EQ(found->ValueAsInt(static_cast<int64_t>(i)), slice.global_ids.ValueAsInt(static_cast<int64_t>(3 * i)));
  }
  const std::vector<OriginalNodeId> beyond = {OriginalNodeId(uint64_t{1} << 40)};
  const auto none = Await<Tensor>([&](auto done) { access_->ToGlobalIds(destination_type(), beyond, Soon(), done); });
  EXPECT_FALSE(none.ok());
}

TEST_P(PartitionAccessTest, CountsInDegrees) {
  const std::vector<LocalNodeId> nodes = AllOwned(destination_type());
  const auto degrees = Await<Tensor>([&](auto done) { access_->InDegrees(edge_type(), nodes, Soon(), done); });
  ASSERT_TRUE(degrees.ok()) << degrees.status().ToString();
  const Tensor& indptr = served_.local().shards[kPartition]->data().in_edges[edge_type().value].indptr;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    ASSERT_EQ(degrees->ValueAsInt(row), indptr.ValueAsInt(row + 1) - indptr.ValueAsInt(row));
  }
}

TEST_P(PartitionAccessTest, FindsEndpointsOfEdges) {
  const uint64_t first = book().EdgeFirst(edge_type())[kPartition];
  const std::vector<GlobalEdgeId> edges = {GlobalEdgeId(first + 5), GlobalEdgeId(first), GlobalEdgeId(first + 9)};
  const auto expected = Await<Tensor>([&](auto done) { shard_->FindEdges(edge_type(), edges, Soon(), done); });
  const auto ends = Await<Tensor>([&](auto done) { access_->FindEdges(edge_type(), edges, Soon(), done); });
  ASSERT_TRUE(ends.ok()) << ends.status().ToString();
  EXPECT_EQ(ends->ToString(), "I64 [2, 3]");
  ExpectEqual(*ends, *expected);

  const std::vector<GlobalEdgeId> elsewhere = {GlobalEdgeId(first - 1)};
  const auto none = Await<Tensor>([&](auto done) { access_->FindEdges(edge_type(), elsewhere, Soon(), done); });
  EXPECT_EQ(none.status().code(), StatusCode::kInvalidArgument);
}

TEST_P(PartitionAccessTest, GathersRowsOfEdges) {
  const uint64_t first = book().EdgeFirst(edge_type())[kPartition];
  const std::vector<GlobalEdgeId> edges = {GlobalEdgeId(first + 5), GlobalEdgeId(first), GlobalEdgeId(first + 5)};
  const auto gather = [&](const std::string& column, const std::vector<GlobalEdgeId>& of) {
    return Await<Tensor>([&](auto done) { access_->GatherEdgeRows(edge_type(), column, of, Soon(), done); });
  };
  const Tensor& ratings = served_.local().shards[kPartition]->data().edge_columns[edge_type().value].at("rating");
  const auto rows = gather("rating", edges);
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_THAT(rows->values<int64_t>(),
              ::testing::ElementsAre(ratings.ValueAsInt(5), ratings.ValueAsInt(0), ratings.ValueAsInt(5)));
  std::vector<GlobalEdgeId> backwards;
  for (int64_t i = ratings.num_rows(); i > 0; --i) backwards.emplace_back(first + static_cast<uint64_t>(i - 1));
  const auto all = gather("rating", backwards);
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  ASSERT_EQ(all->shape(), ratings.shape());
  for (int64_t i = 0; i < all->num_rows(); ++i) {
    ASSERT_EQ(all->ValueAsInt(i), ratings.ValueAsInt(ratings.num_rows() - 1 - i)) << i;
  }
  EXPECT_EQ(gather("rating", {})->ToString(), "I64 [0]");
  const std::vector<GlobalEdgeId> elsewhere = {GlobalEdgeId(first - 1)};
  EXPECT_EQ(gather("rating", elsewhere).status().code(), StatusCode::kInvalidArgument);
  const Status unknown = gather("no-such-column", edges).status();
  EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
  EXPECT_THAT(unknown.message(), HasSubstr("'rating'"));
}

TEST_P(PartitionAccessTest, KeepsMutableTensors) {
  const NodeTypeId type = destination_type();
  const sampler::TensorId id{sampler::RowSpace::Nodes(type), "hidden", {}};
  sampler::PartitionTensors& tensors = access_->tensors();
  const auto create = [&](DType dtype, uint64_t creation) {
    const sampler::TensorSpec spec{.id = id, .dtype = dtype, .row_shape = {3}, .initializer = {}, .maker = 5};
    return Await<sampler::TensorDescription>([&](auto done) { tensors.Create(spec, creation, Soon(), done); });
  };
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const auto description = create(dtype, 7);
    ASSERT_TRUE(description.ok()) << description.status().ToString();
    EXPECT_EQ(description->dtype, DType::kF32);
    EXPECT_THAT(description->row_shape, ::testing::ElementsAre(3));
    EXPECT_EQ(description->creation, 7u);
    EXPECT_EQ(description->maker, 5u);
  }
  EXPECT_EQ(create(DType::kF32, 6).status().code(), StatusCode::kAborted);  // an older incarnation
  EXPECT_EQ(create(DType::kF32, (uint64_t{9} << 32) | 8).status().code(),
            StatusCode::kNotFound);  // a creation number of another register

  std::vector<LocalRowId> rows;
  for (const LocalNodeId node : AllOwned(type)) rows.emplace_back(node.value);
  std::vector<float> values(rows.size() * 3);
  std::iota(values.begin(), values.end(), 1.f);
  const Tensor written = Tensor::FromVector(values, {static_cast<int64_t>(rows.size()), 3});
  const Status status = AwaitStatus(
      [&](auto done) { tensors.Write(id, sampler::RowWrite::kAssign, rows, written, Soon(), std::move(done)); });
  ASSERT_TRUE(status.ok()) << status.ToString();

  std::vector<float> read(values.size());
  std::vector<uint32_t> backwards(rows.size());
  std::iota(backwards.rbegin(), backwards.rend(), 0u);
  const sampler::RowSink sink{reinterpret_cast<std::byte*>(read.data()), 12, backwards};
  const auto read_all = [&] { return AwaitStatus([&](auto done) { tensors.Read(id, rows, sink, Soon(), done); }); };
  ASSERT_TRUE(read_all().ok());
  for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(read[3 * (rows.size() - 1 - i) + 1], values[3 * i + 1]);

  const auto drop = [&](uint64_t creation) {
    sampler::TensorId dropped = id;
    dropped.creation = creation;
    return AwaitStatus([&](auto done) { tensors.Drop(dropped, Soon(), done); });
  };
  EXPECT_TRUE(drop(8).ok());  // another creation number
  EXPECT_TRUE(read_all().ok());
  EXPECT_TRUE(drop(7).ok());
  EXPECT_TRUE(drop(0).ok());
  EXPECT_EQ(read_all().code(), StatusCode::kNotFound);
  EXPECT_EQ(create(DType::kF32, 8).status().code(), StatusCode::kAborted);  // dropped before it was created
}

}  // namespace
}  // namespace espalier::client
