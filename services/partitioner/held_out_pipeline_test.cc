// Validation and test edges are removed from the graph for training, and the manifest records it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "services/format/source/npy_folder.h"
#include "services/format/verify/verify.h"
#include "services/partition/testing/small_graphs.h"
#include "services/partitioner/partition_pipeline.h"
#include "services/partitioner/report.h"
#include "services/storage/open_store.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::partitioner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class HeldOutPipelineTest : public ::testing::Test {
 protected:
  job::Graph GraphAt(const std::string& folder, uint32_t num_partitions) const {
    job::Graph graph;
    graph.source = {.uri = folder_.path() + "/" + folder, .format = job::GraphFormat::kNpy};
    graph.partitions.algorithm = job::PartitionAlgorithm::kRandom;
    graph.partitions.count = num_partitions;
    return graph;
  }
  Result<PartitionOutcome> Run(const job::Graph& graph, const PartitionPipelineOptions& options) const {
    return PartitionGraph(graph, /*seed=*/1, folder_.path() + "/partitions", nullptr, options);
  }

  const storage::TemporaryFolder folder_;
  graph::SourceGraph source_ = partition::testing::TypedGraph(60, /*seed=*/5);
};

// Ten citations are test edges, twenty are training edges; one of these is a test edge as well.
TEST_F(HeldOutPipelineTest, HoldsOutEvaluatedEdgesAndRecordsIt) {
  const EdgeTypeId cites = *source_.schema.FindEdgeType("cites");
  graph::EdgeSplit& split = source_.edge_splits["links"][cites.value];
  const graph::EdgeSet& edges = source_.edges_of(cites);
  for (int64_t i = 0; i < 30; ++i) {
    graph::EdgePairs& part = i < 10 ? split.test : split.train;
    const int64_t edge = i == 29 ? 0 : 20 + i;  // after the parallel edges, except for the last
    part.sources.push_back(static_cast<uint64_t>(edges.sources.ValueAsInt(i == 0 ? 0 : edge)));
    part.destinations.push_back(static_cast<uint64_t>(edges.destinations.ValueAsInt(i == 0 ? 0 : edge)));
  }
  ASSERT_TRUE(format::WriteNpyFolder(source_, folder_.path() + "/links").ok());
  job::Graph graph = GraphAt("links", 3);
  graph.preprocess.add_reverse_edges = true;
  const graph::HeldOutEdges held_out{"links", "cites", ""};
  const Result<PartitionOutcome> outcome = Run(graph, {.held_out = held_out});
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  const graph::GraphSchema& schema = outcome->manifest.book.schema();
  size_t num_held_out = 0;
  for (const format::EdgeSplitEntry& entry : outcome->manifest.edge_splits) {
    if (!entry.held_out.has_value()) continue;
    ++num_held_out;
    EXPECT_EQ(schema.EdgeType(EdgeTypeId(entry.edge_type)).Name(), "paper:cites:paper");
    ASSERT_TRUE(entry.held_out->reverse.has_value());
    EXPECT_EQ(schema.EdgeType(EdgeTypeId(*entry.held_out->reverse)).Name(), "paper:rev_cites:paper");
    EXPECT_EQ(entry.test, 10u);
    EXPECT_EQ(entry.train, 19u);
  }
  EXPECT_EQ(num_held_out, 1u);
  EXPECT_THAT(outcome->manifest.warnings, ElementsAre(HasSubstr("split 'links': 1 of 20 training edges are left out")));
  EXPECT_THAT(ReportAsJson(*outcome), HasSubstr("\"warnings\":[\"split 'links': 1 of 20"));
  EXPECT_THAT(ReportAsText(*outcome), HasSubstr("  warning      split 'links': 1 of 20"));
  const Result<PartitionOutcome> again = Run(graph, {.held_out = held_out});
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(again->reused);
  EXPECT_EQ(again->manifest.warnings, outcome->manifest.warnings);
  const storage::StoreLocation place = *storage::OpenStore(outcome->uri);
  const auto report = format::VerifyPartitioning(*place.store, place.prefix, {.data_dir = {}});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_THAT(report->violations, ElementsAre());
}

// One of two relations to hold out does not have the split: no edges are held out, and the manifest records none.
TEST_F(HeldOutPipelineTest, WithoutCommonSplitNothingIsHeldOut) {
  const graph::EdgeSet& edges = source_.edges[0];
  graph::EdgeSplit& split = source_.edge_splits["links"][0];
  for (graph::EdgePairs* part : {&split.train, &split.test}) {
    part->sources.push_back(static_cast<uint64_t>(edges.sources.ValueAsInt(0)));
    part->destinations.push_back(static_cast<uint64_t>(edges.destinations.ValueAsInt(0)));
  }
  ASSERT_TRUE(format::WriteNpyFolder(source_, folder_.path() + "/some-links").ok());
  job::Graph graph = GraphAt("some-links", 2);
  const graph::HeldOutEdges held_out{"links", "", ""};
  const Result<PartitionOutcome> outcome = Run(graph, {.held_out = held_out, .needs_split = false});
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  ASSERT_FALSE(outcome->manifest.edge_splits.empty());
  for (const format::EdgeSplitEntry& entry : outcome->manifest.edge_splits) EXPECT_FALSE(entry.held_out.has_value());
  const storage::StoreLocation place = *storage::OpenStore(outcome->uri);
  const auto report = format::VerifyPartitioning(*place.store, place.prefix, {.data_dir = {}});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_THAT(report->violations, ElementsAre());
}

}  // namespace
}  // namespace espalier::partitioner
