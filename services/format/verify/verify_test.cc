#include "services/format/verify/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/format/testing/tiny_graph.h"
#include "services/graph/preprocess.h"
#include "services/storage/file_store.h"
#include "services/storage/testing/put_text.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::format {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor U32Of(std::vector<uint32_t> values) { return Tensor::FromVector(std::move(values)); }

enum class Against { kFilesOnly, kSource };

class VerifyTest : public ::testing::Test {
 protected:
  // Writes set_ and verifies it.
  VerifyReport Verify(Against against) {
    const storage::TemporaryFolder folder;
    storage::FileStore store(folder.path());
    const auto written = WritePartitioning(store, "p", set_, manifest_);
    EXPECT_TRUE(written.ok()) << written.status().ToString();
    WorkMeter meter;
    const auto report = VerifyPartitioning(
        store, "p",
        {.source = against == Against::kSource ? &graph_ : nullptr, .threads = 2, .data_dir = {}, .meter = &meter});
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_LE(meter.done_bytes(), meter.expected_bytes());
    if (report->ok()) {
      EXPECT_EQ(meter.done_bytes(), meter.expected_bytes());
    }
    return *report;
  }

  graph::SourceGraph graph_ = TinyGraph();
  partition::PartitionSet set_ = TinyPartitions(graph_);
  Manifest manifest_ = TinyManifest(graph_, set_);
};

// The features of papers as I8, in the source, the partitions and the manifest.
class VerifyScalesTest : public VerifyTest {
 protected:
  VerifyScalesTest() {
    auto scaled = graph::Preprocess(graph_, {.features = {.dtype = DType::kI8}}, 1);
    ESPALIER_CHECK(scaled.ok()) << scaled.status().ToString();
    graph_ = *std::move(scaled);
    set_ = TinyPartitions(graph_);
    manifest_ = TinyManifest(graph_, set_);
    manifest_.node_columns[1][0].scales = graph_.nodes[1].scales.at("feat");
    manifest_.format_version = NeededVersion(manifest_);
  }
};

TEST_F(VerifyScalesTest, AcceptsScalesOfSource) {
  EXPECT_THAT(Verify(Against::kFilesOnly).violations, ElementsAre());
  EXPECT_THAT(Verify(Against::kSource).violations, ElementsAre());
}

TEST_F(VerifyScalesTest, FindsScalesThatDifferFromSource) {
  manifest_.node_columns[1][0].scales[1] *= 2;
  EXPECT_THAT(Verify(Against::kFilesOnly).violations, ElementsAre());
  EXPECT_THAT(Verify(Against::kSource).violations,
              Contains(HasSubstr("node type 'paper': the scales of column 'feat' differ from the source's")));
}

TEST_F(VerifyTest, AcceptsOutputOfPartitioner) {
  for (const Against against : {Against::kFilesOnly, Against::kSource}) {
    const VerifyReport report = Verify(against);
    EXPECT_THAT(report.violations, ElementsAre());
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report.compared_with_source, against == Against::kSource);
    EXPECT_EQ(report.partitions, 2u);
    EXPECT_EQ(report.files, 8u);
    EXPECT_EQ(report.nodes, 8u);
    EXPECT_EQ(report.edges, 11u);
    EXPECT_EQ(report.columns, 4u + 2u + 2u);  // columns of papers, out-degrees, columns of citations
    EXPECT_EQ(report.quality, manifest_.quality);
  }
}

// Computed by hand: the cut edges are author 0 -> paper 1, paper 0 -> 1, paper 2 -> 1 (three times). The remote
// in-neighbors of partition 1 are author 0 and papers 0 and 2.
TEST_F(VerifyTest, RecomputesQuality) {
  const Quality quality = Verify(Against::kFilesOnly).quality;
  // Author 1 is in partition 1 and paper 4 in partition 0: this edge is cut, too, and author 1 is a remote in-neighbor.
  EXPECT_EQ(quality.cut_edges, 6u);
  EXPECT_DOUBLE_EQ(quality.cut_ratio, 6.0 / 11);
  EXPECT_DOUBLE_EQ(quality.replication, (8.0 + 4) / 8);
  EXPECT_DOUBLE_EQ(quality.balance.at("nodes"), 5.0 / 4);
  EXPECT_DOUBLE_EQ(quality.balance.at("edges"), 7.0 / 5.5);
  EXPECT_DOUBLE_EQ(quality.balance.at("train-nodes"), 2.0 / 1.5);
}

TEST_F(VerifyTest, NeedsAManifest) {
  const storage::TemporaryFolder folder;
  storage::FileStore store(folder.path());
  EXPECT_EQ(VerifyPartitioning(store, "", {.data_dir = {}}).status().code(), StatusCode::kNotFound);
}

TEST_F(VerifyTest, ReportsEveryFileThatCannotBeLoaded) {
  const storage::TemporaryFolder folder;
  storage::FileStore store(folder.path());
  const Manifest manifest = *WritePartitioning(store, "", set_, manifest_);
  for (const PartitionEntry& entry : manifest.partitions) {
    ASSERT_TRUE(storage::PutText(store, entry.graph.key, "short").ok());
  }
  const auto report = VerifyPartitioning(store, "", {.data_dir = {}});
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->violations, ElementsAre(HasSubstr("partition 0: "), HasSubstr("partition 1: ")));
}

TEST_F(VerifyTest, LimitsReportedViolations) {
  VerifyReport report;
  for (int i = 0; i < 1000; ++i) report.Add(std::to_string(i));
  EXPECT_EQ(report.num_violations, 1000u);
  EXPECT_EQ(report.violations.size(), VerifyReport::kMaxViolations);
}

TEST_F(VerifyTest, FindsNodesWithTwoOwnersAndWithoutOwner) {
  set_.partitions[1].nodes[1].original_ids = U32Of({1, 4});  // paper 4 is owned by partition 0, too
  const VerifyReport report = Verify(Against::kFilesOnly);
  EXPECT_THAT(report.violations, Contains(HasSubstr("node 4 of 'paper' is owned twice, as global ids 2 and 4")));
  EXPECT_THAT(report.violations, Contains(HasSubstr("node 3 of 'paper' is owned by no partition")));
}

TEST_F(VerifyTest, FindsAWrongDirectory) {
  set_.partitions[0].directory[1].global_ids = U32Of({0, 1});  // paper 1 has global id 3
  EXPECT_THAT(Verify(Against::kFilesOnly).violations,
              ElementsAre(HasSubstr("directory of partition 0 maps node 1 of 'paper' to global id 1: expected 3")));
}

TEST_F(VerifyTest, FindsInconsistentSplitCounts) {
  // Training papers are 0, 1 and 3; partition 1 owns 1 and 3.
  set_.partitions[1].splits["public"][1][0].ordinals = Tensor::FromVector<uint64_t>({0, 2});
  EXPECT_THAT(Verify(Against::kFilesOnly).violations, Contains(HasSubstr("train: ordinal 1 is in no partition")));
}

TEST_F(VerifyTest, FindsANodeInTwoParts) {
  // Paper 4, the only validation node, has local id 2 in partition 0; local id 0 is a training node.
  set_.partitions[0].splits["public"][1][1].local_ids = U32Of({0});
  EXPECT_THAT(Verify(Against::kFilesOnly).violations, Contains(HasSubstr("node 0 of 'paper' is in two parts")));
  EXPECT_THAT(Verify(Against::kSource).violations,
              Contains(HasSubstr("validation: its nodes differ from the source's")));
}

TEST_F(VerifyTest, FindsEdgesOutOfOrder) {
  // In-edges of paper 1 by time: -3 (edge 3), 5 (edges 0, 6), 7 (edges 2, 4).
  Tensor& ids = set_.partitions[1].original_edge_ids[1];
  ASSERT_THAT(ids.values<uint32_t>(), ElementsAre(3, 0, 6, 2, 4));
  ids = U32Of({3, 0, 6, 4, 2});
  EXPECT_THAT(Verify(Against::kFilesOnly).violations,
              ElementsAre(HasSubstr("of 'paper:cites:paper' (partition 1, position 4) is out of order")));
}

TEST_F(VerifyTest, FindsAWrongOutDegree) {
  set_.partitions[0].nodes[0].columns["out_degree.writes.paper"] = U32Of({2, 1});  // author 2 has no edges
  EXPECT_THAT(Verify(Against::kFilesOnly).violations,
              Contains(HasSubstr("is 1 for node 2: expected its out-degree, 0")));
}

TEST_F(VerifyTest, ComparesSourceColumnsWithTheNodes) {
  set_ = TinyPartitions(graph_, {"original_id", "label"});
  manifest_ = TinyManifest(graph_, set_);
  manifest_.source_columns = {"original_id", "label"};
  EXPECT_THAT(Verify(Against::kSource).violations, ElementsAre());

  // The second in-edge of paper 1 gets the id of another node.
  Tensor& ids = set_.partitions[1].edge_columns[1].at("source.original_id");
  std::vector<uint32_t> wrong(ids.values<uint32_t>().begin(), ids.values<uint32_t>().end());
  wrong[1] += 1;
  ids = U32Of(wrong);
  EXPECT_THAT(
      Verify(Against::kFilesOnly).violations,
      ElementsAre(HasSubstr("position 1): column 'source.original_id' is not a copy of the source node's value")));
}

// The manifest, not the name, determines which columns are copies.
TEST_F(VerifyTest, ColumnMayHaveNameOfCopy) {
  graph_.edges[1].columns["source.label"] = graph_.edges[1].columns.at("weight");
  set_ = TinyPartitions(graph_);
  manifest_ = TinyManifest(graph_, set_);
  EXPECT_THAT(Verify(Against::kSource).violations, ElementsAre());
}

TEST_F(VerifyTest, FindsASourceColumnThatIsMissing) {
  manifest_.source_columns = {"label"};
  EXPECT_THAT(Verify(Against::kFilesOnly).violations, Contains(HasSubstr("there is no column 'source.label'")));
}

TEST_F(VerifyTest, FindsWrongStatistics) {
  manifest_.quality.cut_edges += 1;
  manifest_.quality.replication += 0.001;
  manifest_.quality.balance["train-nodes"] = 1;
  manifest_.quality.balance["luck"] = 1;
  EXPECT_THAT(Verify(Against::kFilesOnly).violations,
              ElementsAre(HasSubstr("quality.cut_edges is recorded as 7, but is 6"), HasSubstr("quality.replication"),
                          HasSubstr("quality.balance has 'luck'"), HasSubstr("quality.balance.train-nodes")));
}

TEST_F(VerifyTest, FindsEdgeMissingInSource) {
  graph_.edges[1].sources = Tensor::FromVector<int64_t>({0, 0, 2, 2, 2, 3, 1});  // the source of edge 5 was paper 4
  EXPECT_THAT(Verify(Against::kSource).violations,
              ElementsAre(HasSubstr("holds edge 5 from node 4, expected edge 5 from node 3")));
}

TEST_F(VerifyTest, FindsAnEdgeThatIsMissing) {
  graph_.edges[0].sources = Tensor::FromVector<uint32_t>({0, 0, 1, 1, 2});
  graph_.edges[0].destinations = Tensor::FromVector<uint32_t>({0, 1, 1, 4, 2});
  EXPECT_THAT(Verify(Against::kSource).violations,
              ElementsAre(HasSubstr("node 2 has 0 in-edges, the source graph has 1")));
}

TEST_F(VerifyTest, FindsColumnsThatDiffer) {
  graph_.nodes[1].columns["label"] = Tensor::FromVector<int64_t>({2, 0, -1, 1, 3});
  graph_.nodes[1].columns["feat"] = Tensor::Zeros(DType::kF32, {5, 3});
  graph_.nodes[1].columns.erase("half");
  graph_.edges[1].columns["weight"] = Tensor::FromVector<float>({1, 2, 3, 4, 5, 6, 8});
  const std::vector<std::string> violations = Verify(Against::kSource).violations;
  EXPECT_THAT(violations, Contains(HasSubstr("column 'label' of node 4 differs")));
  EXPECT_THAT(violations, Contains(HasSubstr("column 'feat' is F32 [3, 2], the source's is F32 [5, 3]")));
  EXPECT_THAT(violations, Contains(HasSubstr("column 'half' is not in the source")));
  EXPECT_THAT(violations, Contains(HasSubstr("column 'weight' of edge 6 differs")));
}

TEST_F(VerifyTest, FindsAnotherGraph) {
  graph_.nodes[0].count = 4;
  EXPECT_THAT(Verify(Against::kSource).violations,
              ElementsAre(HasSubstr("node type 'author' has 3 nodes, the source 4")));
}

class VerifyEdgeSplitsTest : public VerifyTest {
 protected:
  VerifyEdgeSplitsTest() {
    graph_.edge_splits["links"][1] = {.train = {{0, 2, 2}, {1, 1, 1}}, .validation = {{4}, {0}}, .test = {}};
    set_ = TinyPartitions(graph_);
    manifest_.edge_splits = {{"links", 1, 3, 1, 0}};
  }
};

TEST_F(VerifyEdgeSplitsTest, AcceptsOutputOfPartitioner) {
  EXPECT_THAT(Verify(Against::kSource).violations, ElementsAre());
}

TEST_F(VerifyEdgeSplitsTest, FindsMissingDuplicateAndWrongEdges) {
  manifest_.edge_splits[0].train = 4;
  EXPECT_THAT(Verify(Against::kFilesOnly).violations,
              Contains(HasSubstr("split 'links' of 'paper:cites:paper', train: partitions hold 3 edges, the manifest "
                                 "says 4")));
  manifest_.edge_splits[0].train = 3;
  graph_.edge_splits["links"][1].validation = {{4}, {1}};
  EXPECT_THAT(Verify(Against::kSource).violations,
              Contains(HasSubstr("validation: its edges differ from the source's")));
}

TEST_F(VerifyEdgeSplitsTest, NamesEdgeTypeOfSplitThatSourceLacks) {
  graph_.edge_splits["links"][0] = graph_.edge_splits["links"][1];
  graph_.edge_splits["links"].erase(1);
  EXPECT_THAT(Verify(Against::kSource).violations,
              Contains("split 'links' of 'paper:cites:paper' is not in the source"));
}

TEST_F(VerifyEdgeSplitsTest, FindsReferencesToOtherParallelEdges) {
  // Edges 2, 3 and 4 are 2 -> 1; edge 0 has no parallel edges.
  graph_.edge_splits["links"][1].train.edge_ids = {0, 4, 3};
  EXPECT_THAT(Verify(Against::kSource).violations,
              ElementsAre("split 'links' of 'paper:cites:paper', train: among edges with the same endpoints, it "
                          "selects others than the source's split"));
  set_ = TinyPartitions(graph_);
  EXPECT_THAT(Verify(Against::kSource).violations, ElementsAre());
  Tensor& positions = set_.partitions[1].edge_splits.at("links").at(1)[0].positions;
  EXPECT_THAT(positions.values<uint32_t>(), ElementsAre(5, 4, 0));  // positions are ordered by time
  positions = U32Of({5, 3, 0});
  EXPECT_THAT(Verify(Against::kSource).violations, Contains(HasSubstr("it selects others than the source's split")));
  positions = U32Of({5, 6, 0});
  EXPECT_THAT(Verify(Against::kFilesOnly).violations,
              Contains(HasSubstr("edge_split/links/paper:cites:paper/train/positions[1] is 6, expected less than 6")));
}

// Citations are 4 -> 0, 2 -> 1 (three times), and others.
TEST_F(VerifyEdgeSplitsTest, FindsHeldOutEdgesInGraphOrTraining) {
  const auto violations = [&](graph::EdgePairs train, graph::EdgePairs validation, std::optional<uint16_t> reverse) {
    graph_.edge_splits["links"][1] = {.train = std::move(train), .validation = std::move(validation), .test = {}};
    set_ = TinyPartitions(graph_);
    manifest_.edge_splits[0].held_out = HeldOut{.reverse = reverse};
    return Verify(Against::kFilesOnly).violations;
  };
  const graph::EdgePairs train{{0, 0, 0}, {1, 1, 4}};
  EXPECT_THAT(violations(train, {{3}, {4}}, std::nullopt), ElementsAre());
  EXPECT_THAT(violations(train, {{4}, {0}}, std::nullopt),
              ElementsAre("split 'links': 4 -> 0 of 'paper:cites:paper' is held out and is an edge"));
  EXPECT_THAT(violations(train, {{1}, {2}}, std::nullopt), ElementsAre());  // no reverse edge type is given
  const std::string reverse = "split 'links': 2 -> 1 of 'paper:cites:paper' is held out and is an edge";
  EXPECT_THAT(violations(train, {{1}, {2}}, 1), ElementsAre(reverse, reverse, reverse));
  EXPECT_THAT(violations({{0, 3, 4}, {1, 4, 3}}, {{3}, {4}}, std::nullopt),
              ElementsAre("split 'links': 3 -> 4 of 'paper:cites:paper' is held out and is trained on"));
  EXPECT_THAT(violations({{0, 3, 4}, {1, 4, 3}}, {{3}, {4}}, 1),
              ElementsAre(HasSubstr("3 -> 4"), HasSubstr("4 -> 3 of 'paper:cites:paper' is held out and is trained")));
}

TEST_F(VerifyEdgeSplitsTest, RefusesFileWithEdgesOutOfRange) {
  set_.partitions[0].edge_splits.at("links").at(1)[1].sources = U32Of({5});
  const VerifyReport report = Verify(Against::kFilesOnly);
  EXPECT_THAT(report.violations, Contains(HasSubstr("edge_split/links/paper:cites:paper/validation/sources")));
}

}  // namespace
}  // namespace espalier::format
