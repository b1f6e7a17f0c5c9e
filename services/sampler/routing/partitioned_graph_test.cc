#include "services/sampler/routing/partitioned_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "services/base/testing/soon.h"
#include "services/sampler/testing/reference_neighbor_source.h"
#include "services/sampler/testing/scripted_partition.h"

namespace espalier::sampler {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScriptedPartition;

const std::string kFeature = "feature";

std::vector<GlobalNodeId> NodeIds(std::initializer_list<uint64_t> ids) {
  std::vector<GlobalNodeId> nodes;
  for (const uint64_t id : ids) nodes.push_back(GlobalNodeId(id));
  return nodes;
}

Deadline Now() { return Deadline::After(std::chrono::nanoseconds(0)); }

Tensor U32(std::vector<uint32_t> values) { return Tensor::FromVector(std::move(values)); }

// Partition 0 owns nodes 0..4 and edges 0..9, partition 1 nodes 5..9 and edges 10..19.
class PartitionedGraphTest : public ::testing::Test {
 protected:
  PartitionedGraphTest() {
    for (uint32_t p = 0; p < 2; ++p) {
      // A row's value is 100 p + local id.
      partitions[p]->on_gather = [this, p](std::span<const LocalNodeId> nodes, RowSink sink, const DoneStatus& done) {
        for (size_t i = 0; i < nodes.size(); ++i) {
          const auto value = static_cast<float>(100 * p + nodes[i].value);
          std::memcpy(sink.out + sink.positions[i] * sink.row_bytes, &value, sizeof(value));
          requested[p].push_back(nodes[i].value);
        }
        done({});
      };
    }
  }

  static GraphDescription Description() {
    Result<graph::PartitionBook> book =
        graph::PartitionBook::Make(testing::HomogeneousSchema(), {{0, 5, 10}}, {{0, 10, 20}});
    ESPALIER_CHECK(book.ok()) << book.status().ToString();
    return {.book = *std::move(book),
            .columns = {{NodeTypeId(0), kFeature, DType::kF32, {}}},
            .splits = {{.node_type = NodeTypeId(0), .split = "public", .train = 5, .validation = 2, .test = 1}},
            .edge_splits = {{.edge_type = EdgeTypeId(0), .split = "links", .train = 4}}};
  }

  Status SampleError() {
    const std::vector<GlobalNodeId> destinations = NodeIds({1, 6});
    return graph.SampleInEdges({.relations = {{.fanout = 2, .destinations = destinations}}}, Soon()).status();
  }

  std::vector<std::shared_ptr<ScriptedPartition>> partitions = {std::make_shared<ScriptedPartition>(0),
                                                                std::make_shared<ScriptedPartition>(1)};
  std::vector<uint32_t> requested[2];
  PartitionedGraph graph{Description(), {partitions[0], partitions[1]}};
};

TEST_F(PartitionedGraphTest, RestoresRequestOrderOfDrawnEdges) {
  partitions[0]->on_sample = [](const PartitionHopQuery& query, const Done<PartitionHopSample>& done) {
    EXPECT_THAT(query.relations[0].destinations, ElementsAre(LocalNodeId(1), LocalNodeId(0)));
    done(PartitionHopSample{{{.counts = U32({2, 1}), .sources = U32({7, 8, 9}), .edge_ids = U32({3, 4, 0})}}});
  };
  partitions[1]->on_sample = [](const PartitionHopQuery& query, const Done<PartitionHopSample>& done) {
    EXPECT_THAT(query.relations[0].destinations, ElementsAre(LocalNodeId(1), LocalNodeId(4)));
    // Other widths are fine.
    done(PartitionHopSample{{{.counts = U32({0, 2}),
                              .sources = Tensor::FromVector(std::vector<uint64_t>{1, 2}),
                              .edge_ids = Tensor::FromVector(std::vector<uint64_t>{18, 19})}}});
  };
  const std::vector<GlobalNodeId> destinations = NodeIds({6, 1, 9, 0});

  const Result<HopSample> hop =
      graph.SampleInEdges({.relations = {{.fanout = 2, .destinations = destinations}}, .want_edge_ids = true}, Soon());

  ASSERT_TRUE(hop.ok()) << hop.status().ToString();
  EXPECT_THAT(hop->relations[0].offsets, ElementsAre(0, 0, 2, 4, 5));
  EXPECT_EQ(hop->relations[0].sources, NodeIds({7, 8, 1, 2, 9}));
  EXPECT_THAT(hop->relations[0].edge_ids,
              ElementsAre(GlobalEdgeId(3), GlobalEdgeId(4), GlobalEdgeId(18), GlobalEdgeId(19), GlobalEdgeId(0)));
}

// No partition responds before every partition has a request: sequential requests would wait forever.
TEST_F(PartitionedGraphTest, SendsOneRequestPerPartitionInParallel) {
  std::vector<Done<PartitionHopSample>> sampling;
  std::vector<DoneStatus> gathering;
  for (const auto& partition : partitions) {
    partition->on_sample = [&](const PartitionHopQuery& query, Done<PartitionHopSample> done) {
      EXPECT_EQ(query.relations.size(), 2u);
      sampling.push_back(std::move(done));
      if (sampling.size() < 2) return;
      const PartitionRelationSample nothing{.counts = U32({0}), .sources = U32({}), .edge_ids = {}};
      for (const Done<PartitionHopSample>& answer : sampling) answer(PartitionHopSample{{nothing, nothing}});
    };
    partition->on_gather = [&, write_rows = partition->on_gather](std::span<const LocalNodeId> nodes, RowSink sink,
                                                                  DoneStatus done) {
      gathering.push_back(std::move(done));
      write_rows(nodes, sink, [&](const Status&) {
        if (gathering.size() < 2) return;
        for (const DoneStatus& answer : gathering) answer({});
      });
    };
  }
  const std::vector<GlobalNodeId> some = NodeIds({1, 6}), others = NodeIds({9, 2});

  const Result<HopSample> hop = graph.SampleInEdges(
      {.relations = {{.fanout = 2, .destinations = some}, {.fanout = 3, .destinations = others}}}, Soon());
  ASSERT_TRUE(hop.ok()) << hop.status().ToString();
  EXPECT_EQ(hop->relations.size(), 2u);
  EXPECT_EQ(sampling.size(), 2u);

  const Result<Tensor> rows = graph.GatherRows(NodeTypeId(0), kFeature, others, Soon());
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_THAT(rows->values<float>(), ElementsAre(104, 2));
  EXPECT_EQ(gathering.size(), 2u);
}

TEST_F(PartitionedGraphTest, NamesThePartitionThatFails) {
  partitions[0]->on_sample = [](const PartitionHopQuery&, const Done<PartitionHopSample>& done) {
    done(PartitionHopSample{{{.counts = U32({0}), .sources = U32({})}}});
  };
  partitions[1]->on_sample = [](const PartitionHopQuery&, const Done<PartitionHopSample>& done) {
    done(Unavailable("connection refused"));
  };
  EXPECT_EQ(SampleError(), Unavailable("partition 1: connection refused"));
}

TEST_F(PartitionedGraphTest, RefusesInconsistentReplies) {
  partitions[1]->on_sample = [](const PartitionHopQuery&, const Done<PartitionHopSample>& done) {
    done(PartitionHopSample{{{.counts = U32({0}), .sources = U32({})}}});
  };
  const auto error_of = [&](const PartitionHopSample& answer) {
    partitions[0]->on_sample = [answer](const PartitionHopQuery&, const Done<PartitionHopSample>& done) {
      done(answer);
    };
    return SampleError();
  };
  EXPECT_EQ(error_of({{{.counts = U32({1}), .sources = U32({3})}}}), Status());
  EXPECT_THAT(error_of({}).message(), HasSubstr("0 relations"));
  EXPECT_THAT(error_of({{{.counts = U32({1, 1}), .sources = U32({1, 2})}}}).message(),
              AllOf(HasSubstr("partition 0"), HasSubstr("counts U32 [2]")));
  EXPECT_THAT(error_of({{{.counts = U32({2}), .sources = U32({1})}}}).message(), HasSubstr("sources U32 [1]"));
  EXPECT_THAT(error_of({{{.counts = U32({1}), .sources = U32({10})}}}).message(),
              HasSubstr("source 10, expected below 10"));
  EXPECT_THAT(error_of({{{.counts = U32({1}), .sources = Tensor::Zeros(DType::kF32, {1})}}}).message(),
              HasSubstr("F32"));
}

TEST_F(PartitionedGraphTest, RequestsRepeatedRowOnce) {
  const Result<Tensor> rows = graph.GatherRows(NodeTypeId(0), kFeature, NodeIds({7, 2, 7, 2, 0, 7}), Soon());
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_THAT(rows->values<float>(), ElementsAre(102, 2, 102, 2, 0, 102));
  EXPECT_THAT(requested[0], ElementsAre(2, 0));
  EXPECT_THAT(requested[1], ElementsAre(2));
}

TEST_F(PartitionedGraphTest, WritesRowsToTheirPlaces) {
  std::vector<float> rows(6, -1);
  const std::shared_ptr<std::byte> out(std::shared_ptr<void>(), reinterpret_cast<std::byte*>(rows.data()));
  const std::vector<uint32_t> places = {4, 0, 1};
  const Status gathered = graph.GatherRowsToPlaces(NodeTypeId(0), kFeature, NodeIds({7, 2, 7}), places, out, Soon());
  ASSERT_TRUE(gathered.ok()) << gathered.ToString();
  EXPECT_THAT(rows, ElementsAre(2, 102, -1, -1, 102, -1));
  EXPECT_THAT(requested[1], ElementsAre(2));
  EXPECT_TRUE(graph.is_remote(PartitionId(1)));
}

TEST_F(PartitionedGraphTest, LateReplyDoesNotWriteBuffers) {
  DoneStatus late;
  RowSink late_sink;
  std::span<const LocalNodeId> late_nodes;
  partitions[1]->on_gather = [&](std::span<const LocalNodeId> nodes, RowSink sink, DoneStatus done) {
    late = std::move(done);
    late_sink = sink;
    late_nodes = nodes;
  };
  {
    const Result<Tensor> rows = graph.GatherRows(NodeTypeId(0), kFeature, NodeIds({1, 9}), Now());
    EXPECT_EQ(rows.status(), DeadlineExceeded("partition 1 did not answer in time"));
  }
  // A partition that responds late can still read the query (checked by the address sanitizer).
  ASSERT_EQ(late_nodes.size(), 1u);
  EXPECT_EQ(late_nodes[0], LocalNodeId(4));
  std::memset(late_sink.out + late_sink.positions[0] * late_sink.row_bytes, 1, late_sink.row_bytes);
  late({});
}

TEST_F(PartitionedGraphTest, ErrorsListColumns) {
  const Status error = graph.GatherRows(NodeTypeId(0), "featur", NodeIds({1}), Soon()).status();
  EXPECT_EQ(error.code(), StatusCode::kNotFound);
  EXPECT_THAT(error.message(), HasSubstr("it has 'feature'"));
  EXPECT_EQ(graph.GatherRows(NodeTypeId(0), kFeature, NodeIds({10}), Soon()).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(graph.GatherRows(NodeTypeId(3), kFeature, NodeIds({1}), Soon()).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(PartitionedGraphTest, CombinesSeedsOfStep) {
  partitions[0]->on_seeds = [](const SeedQuery&, const Done<PartitionSeeds>& done) {
    done(PartitionSeeds{U32({1}), U32({4})});
  };
  partitions[1]->on_seeds = [](const SeedQuery&, const Done<PartitionSeeds>& done) {
    done(PartitionSeeds{U32({0, 2}), U32({9, 5})});
  };
  const SeedQuery query{.split = "public", .batch_size = 3};
  const Result<GlobalBatch> batch = graph.SeedsOfStep(query, Soon());
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(batch->seeds, NodeIds({9, 4, 5}));

  SeedQuery last = query;  // the last step has 2 seeds of 5; the responses above have a third one
  last.step = 1;
  EXPECT_THAT(graph.SeedsOfStep(last, Soon()).status().message(), HasSubstr("at position 2 of 2"));
  partitions[0]->on_seeds = [](const SeedQuery&, const Done<PartitionSeeds>& done) {
    done(PartitionSeeds{U32({}), U32({})});
  };
  EXPECT_THAT(graph.SeedsOfStep(query, Soon()).status().message(),
              HasSubstr("the partitions returned 2 of the 3 seeds of step 0"));
}

TEST_F(PartitionedGraphTest, CombinesSomeEdgesOfStep) {
  PartitionSeeds of_second{U32({1}), U32({4}), U32({7}), U32({70})};
  partitions[0]->on_seeds = [](const SeedQuery& question, const Done<PartitionSeeds>& done) {
    ASSERT_TRUE(question.positions.has_value());
    done(PartitionSeeds{U32({3}), U32({2}), U32({8}), U32({80})});
  };
  partitions[1]->on_seeds = [&](const SeedQuery&, const Done<PartitionSeeds>& done) { done(of_second); };
  SeedQuery query{.split = "links", .batch_size = 4};
  query.edge_types = {EdgeTypeId(0)};
  query.edge_column = "rating";
  query.positions = {1, 3};
  const Result<GlobalBatch> batch = graph.SeedsOfStep(query, Soon());
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_EQ(batch->seeds, NodeIds({4, 2}));
  EXPECT_EQ(batch->sources, NodeIds({7, 8}));
  EXPECT_THAT(batch->types, ElementsAre(0, 0));
  EXPECT_THAT(batch->rows.values<uint32_t>(), ElementsAre(70, 80));

  of_second.positions = U32({2});
  EXPECT_THAT(graph.SeedsOfStep(query, Soon()).status().message(), HasSubstr("at position 2 of 4"));
  query.positions = {1, 4};
  EXPECT_THAT(graph.SeedsOfStep(query, Soon()).status().message(), HasSubstr("position 4 is out of range [0, 4)"));
  query.positions = {1, 1};
  EXPECT_THAT(graph.SeedsOfStep(query, Soon()).status().message(), HasSubstr("1 precedes 1"));
  query.edge_types.clear();
  query.edge_column.clear();
  query.split = "public";
  EXPECT_THAT(graph.SeedsOfStep(query, Soon()).status().message(), HasSubstr("only for edges, not for nodes"));
}

TEST_F(PartitionedGraphTest, RefusesIdsOfSeedsThatDoNotFit) {
  Tensor ids;
  partitions[0]->on_seeds = [](const SeedQuery&, const Done<PartitionSeeds>& done) {
    done(PartitionSeeds{U32({1}), U32({4}), U32({7}), Tensor(), U32({3})});
  };
  partitions[1]->on_seeds = [&](const SeedQuery&, const Done<PartitionSeeds>& done) {
    done(PartitionSeeds{U32({0}), U32({9}), U32({2}), Tensor(), ids});
  };
  SeedQuery query{.split = "links", .batch_size = 2};
  query.edge_types = {EdgeTypeId(0)};
  query.want_edge_ids = true;
  const auto error_of = [&](const Tensor& answer) {
    ids = answer;
    return graph.SeedsOfStep(query, Soon()).status().message();
  };
  ids = U32({19});
  const Result<GlobalBatch> batch = graph.SeedsOfStep(query, Soon());
  ASSERT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_THAT(batch->edge_ids, ElementsAre(GlobalEdgeId(19), GlobalEdgeId(3)));
  EXPECT_THAT(error_of(U32({20})), HasSubstr("a seed edge that does not exist: 20"));
  EXPECT_THAT(error_of(U32({19, 18})), HasSubstr("expected a length of 1"));
  EXPECT_THAT(error_of(Tensor::Zeros(DType::kI64, {1})), HasSubstr("edge ids of seeds are I64 [1]"));
  query.edge_types.clear();
  EXPECT_THAT(error_of(U32({19})), HasSubstr("has 0 edge types"));
}

TEST_F(PartitionedGraphTest, RestoresRequestOrderOfEdgeRows) {
  for (const auto& partition : partitions) {
    partition->on_edge_rows = [](std::span<const GlobalEdgeId> edges, const Done<Tensor>& done) {
      std::vector<int64_t> rows;
      for (const GlobalEdgeId edge : edges) rows.push_back(100 * static_cast<int64_t>(edge.value));
      done(Tensor::FromVector(std::move(rows)));
    };
  }
  std::vector<GlobalEdgeId> edges = {GlobalEdgeId(12), GlobalEdgeId(3), GlobalEdgeId(19), GlobalEdgeId(3)};
  const auto gather = [&] { return graph.GatherEdgeRows(EdgeTypeId(0), "rating", edges, Soon()); };
  const Result<Tensor> rows = gather();
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_THAT(rows->values<int64_t>(), ElementsAre(1200, 300, 1900, 300));

  Tensor answer = Tensor::Zeros(DType::kF32, {2});
  partitions[1]->on_edge_rows = [&](std::span<const GlobalEdgeId>, const Done<Tensor>& done) { done(answer); };
  EXPECT_THAT(gather().status().message(), HasSubstr("F32 [2], which differ from those of other partitions"));
  answer = Tensor::Zeros(DType::kI64, {3});
  EXPECT_THAT(gather().status().message(), HasSubstr("I64 [3] for 2 edges"));
  edges.emplace_back(20);
  EXPECT_THAT(gather().status().message(), HasSubstr("edge 20 of type"));
}

TEST_F(PartitionedGraphTest, ErrorsListSplits) {
  const Status error = graph.SeedsOfStep({.split = "random", .batch_size = 3}, Soon()).status();
  EXPECT_EQ(error.code(), StatusCode::kNotFound);
  EXPECT_THAT(error.message(), HasSubstr("'public' of 'node'"));
  EXPECT_EQ(graph.SeedsOfStep({.split = "public"}, Soon()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(*graph.Count(NodeTypeId(0), "public", graph::SplitPartName::kTest), 1u);
}

TEST_F(PartitionedGraphTest, LooksUpOriginalIdsAtOwnerOfSlice) {
  for (uint32_t p = 0; p < 2; ++p) {
    partitions[p]->on_look_up = [p](std::span<const OriginalNodeId> nodes, const Done<Tensor>& done) {
      std::vector<uint32_t> found;
      for (const OriginalNodeId node : nodes) {
        EXPECT_EQ(node.value / 5, p);
        found.push_back(static_cast<uint32_t>(9 - node.value));
      }
      done(U32(found));
    };
  }
  const std::vector<OriginalNodeId> nodes = {OriginalNodeId(8), OriginalNodeId(1), OriginalNodeId(9)};
  const Result<std::vector<GlobalNodeId>> found = graph.ToGlobalIds(NodeTypeId(0), nodes, Soon());
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(*found, NodeIds({1, 8, 0}));
  const std::vector<OriginalNodeId> missing = {OriginalNodeId(10)};
  EXPECT_EQ(graph.ToGlobalIds(NodeTypeId(0), missing, Soon()).status().code(), StatusCode::kOutOfRange);
}

TEST_F(PartitionedGraphTest, LooksUpMoreIdsThanAMessageHolds) {
  static constexpr size_t kMaxLookUpIds = size_t{1} << 20;
  size_t num_questions = 0;
  for (uint32_t p = 0; p < 2; ++p) {
    partitions[p]->on_look_up = [&num_questions](std::span<const OriginalNodeId> piece, const Done<Tensor>& done) {
      ++num_questions;
      EXPECT_LE(piece.size(), kMaxLookUpIds);
      std::vector<uint32_t> found;
      for (const OriginalNodeId node : piece) found.push_back(static_cast<uint32_t>(9 - node.value));
      done(U32(found));
    };
  }
  std::vector<OriginalNodeId> nodes(kMaxLookUpIds + 3, OriginalNodeId(2));
  nodes.back() = OriginalNodeId(7);
  const Result<std::vector<GlobalNodeId>> found = graph.ToGlobalIds(NodeTypeId(0), nodes, Soon());
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  ASSERT_EQ(found->size(), nodes.size());
  EXPECT_EQ(found->front(), GlobalNodeId(7));
  EXPECT_EQ(found->back(), GlobalNodeId(2));
  EXPECT_EQ(num_questions, 3u);
}

TEST_F(PartitionedGraphTest, SplitsWrittenRowsByOwner) {
  Tensor written[2];
  std::vector<LocalRowId> written_rows[2];
  for (uint32_t p = 0; p < 2; ++p) {
    partitions[p]->on_create = [](const TensorSpec& spec, uint64_t creation, const Done<TensorDescription>& done) {
      // The first decides the number.
      done(TensorDescription{spec.dtype, spec.row_shape, creation == 0 ? 7 : creation, spec.maker, 0, false});
    };
    partitions[p]->on_complete = [p](const TensorId& tensor, const DoneStatus& done) {
      EXPECT_EQ(p, 0u);
      EXPECT_EQ(tensor.creation, 7u);
      done({});
    };
    partitions[p]->on_write = [&, p](std::vector<LocalRowId> rows, Tensor values, const DoneStatus& done) {
      written[p] = std::move(values);
      written_rows[p] = std::move(rows);
      done({});
    };
  }
  ASSERT_TRUE(graph.CreateTensor(NodeTypeId(0), "h", DType::kF32, {2}, Soon()).ok());
  const Status times = graph.ReadTimes(NodeTypeId(0), "h", NodeIds({8}), Soon()).status();
  EXPECT_EQ(times.code(), StatusCode::kNotFound);
  EXPECT_THAT(times.message(), HasSubstr("'h' of node type 'node' is an attached tensor"));
  const Tensor rows = Tensor::FromVector(std::vector<float>{1, 2, 3, 4, 5, 6}, {3, 2});

  ASSERT_TRUE(graph.WriteRows(NodeTypeId(0), "h", NodeIds({8, 0, 5}), rows, Soon()).ok());

  EXPECT_THAT(written_rows[0], ElementsAre(LocalRowId(0)));
  EXPECT_THAT(written[0].values<float>(), ElementsAre(3, 4));
  EXPECT_THAT(written_rows[1], ElementsAre(LocalRowId(3), LocalRowId(0)));
  EXPECT_THAT(written[1].values<float>(), ElementsAre(1, 2, 5, 6));
  EXPECT_EQ(graph.WriteRows(NodeTypeId(0), "h", NodeIds({8}), rows, Soon()).code(), StatusCode::kInvalidArgument);
  const TensorHandle handle{.id = {.rows = RowSpace::Nodes(NodeTypeId(0)), .name = "h"}, .row_shape = {2}};
  const std::vector<GlobalRowId> row = {GlobalRowId(8)};
  EXPECT_EQ(graph.tensors().Write(handle, RowWrite::kAssign, row, rows, Soon()),
            InvalidArgument("writing F32 [3, 2] to 1 rows of 'h', expected F32 [1, 2]"));
  EXPECT_EQ(graph.CreateTensor(NodeTypeId(0), kFeature, DType::kF32, {}, Soon()).code(), StatusCode::kAlreadyExists);
}

// The tensor stays complete on partition 0, so that it must not lose its rows on partition 1.
TEST_F(PartitionedGraphTest, DropLaterKeepsOtherRowsIfFirstPartitionFails) {
  const TensorId tensor{.rows = RowSpace::Nodes(NodeTypeId(0)), .name = "h", .job = "", .creation = 7};
  Status of_first = Unavailable("connection refused");
  size_t num_dropped = 0;
  partitions[0]->on_drop = [&](const TensorId&, const DoneStatus& done) { done(of_first); };
  partitions[1]->on_drop = [&](const TensorId&, const DoneStatus& done) {
    ++num_dropped;
    done({});
  };
  graph.tensors().DropLater(tensor);
  EXPECT_EQ(num_dropped, 0u);
  of_first = Status();
  graph.tensors().DropLater(tensor);
  EXPECT_EQ(num_dropped, 1u);
}

}  // namespace
}  // namespace espalier::sampler
