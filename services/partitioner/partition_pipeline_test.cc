// Runs the whole pipeline on a graph on disk and compares the files that it wrote with the source.
#include "services/partitioner/partition_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <barrier>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <thread>

#include "services/format/partition/partition_files.h"
#include "services/format/source/npy_file.h"
#include "services/format/source/npy_folder.h"
#include "services/format/verify/verify.h"
#include "services/partition/testing/small_graphs.h"
#include "services/partitioner/mapping_export.h"
#include "services/partitioner/report.h"
#include "services/storage/open_store.h"

namespace espalier::partitioner {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Provides a folder with a typed graph and a place for partitions.
class PartitionPipelineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(info->test_suite_name()) + "." + info->name();
    std::replace(name.begin(), name.end(), '/', '-');
    folder_ = fs::path(::testing::TempDir()) / (name + "-" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    source_ = partition::testing::TypedGraph(60, /*seed=*/5);
    const Status written = format::WriteNpyFolder(source_, folder_ / "source");
    ASSERT_TRUE(written.ok()) << written.ToString();
  }
  void TearDown() override { fs::remove_all(folder_); }

  job::Graph GraphOf(job::PartitionAlgorithm algorithm, uint32_t count) {
    job::Graph graph;
    graph.source = {.uri = "file://" + (folder_ / "source").string(), .format = job::GraphFormat::kNpy};
    graph.partitions.algorithm = algorithm;
    graph.partitions.count = count;
    if (algorithm == job::PartitionAlgorithm::kExternal) {
      graph.partitions.assignment_uri = (folder_ / "assignment").string();
      WriteAssignment(count);
    }
    return graph;
  }

  // Returns the partition in the given assignment for node i of any type.
  static uint64_t AssignedPartition(uint64_t i, uint32_t count) { return i % 5 % count; }

  void WriteAssignment(uint32_t count) {
    fs::create_directories(folder_ / "assignment");
    for (size_t type = 0; type < source_.nodes.size(); ++type) {
      std::vector<int32_t> partition_of;
      for (uint64_t i = 0; i < source_.nodes[type].count; ++i)
        partition_of.push_back(static_cast<int32_t>(AssignedPartition(i, count)));
      const std::string file = source_.schema.node_types()[type] + ".npy";
      ASSERT_TRUE(format::WriteNpy(folder_ / "assignment" / file, Tensor::FromVector(std::move(partition_of))).ok());
    }
  }

  std::string Output() const { return (folder_ / "partitions").string(); }

  Result<PartitionOutcome> Run(const job::Graph& graph, const PartitionPipelineOptions& options = {}) {
    return PartitionGraph(graph, /*seed=*/1, Output(), nullptr, options);
  }

  std::set<std::string> Files() const {
    std::set<std::string> files;
    if (!fs::exists(Output())) return files;
    for (const auto& entry : fs::recursive_directory_iterator(Output())) {
      if (entry.is_regular_file()) files.insert(fs::relative(entry.path(), Output()));
    }
    return files;
  }

  static std::vector<graph::Partition> LoadAll(const PartitionOutcome& outcome) {
    std::vector<graph::Partition> partitions;
    const storage::StoreLocation location = *storage::OpenStore(outcome.uri);
    for (uint32_t p = 0; p < outcome.manifest.book.num_partitions(); ++p) {
      auto loaded = format::LoadPartition(*location.store, location.prefix, outcome.manifest, PartitionId(p),
                                          {.edge_columns = true, .original_edge_ids = true});
      EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
      if (loaded.ok()) partitions.push_back(*std::move(loaded));
    }
    return partitions;
  }

  fs::path folder_;
  graph::SourceGraph source_;
};

std::string RowOf(const Tensor& tensor, uint64_t row) {
  return std::string(reinterpret_cast<const char*>(tensor.bytes()) + row * tensor.row_bytes(), tensor.row_bytes());
}

// Returns the original ID of each global ID of one node type, read from the partitions.
std::vector<uint64_t> OriginalIds(const std::vector<graph::Partition>& partitions, NodeTypeId type) {
  std::vector<uint64_t> original_of;
  for (const graph::Partition& partition : partitions) {
    const Tensor& ids = partition.nodes[type.value].original_ids;
    for (int64_t i = 0; i < ids.num_rows(); ++i) original_of.push_back(static_cast<uint64_t>(ids.ValueAsInt(i)));
  }
  return original_of;
}

void ExpectNodesOf(const graph::SourceGraph& source, const std::vector<graph::Partition>& partitions, NodeTypeId type) {
  std::vector<uint64_t> original_of = OriginalIds(partitions, type);
  std::set<uint64_t> distinct(original_of.begin(), original_of.end());
  EXPECT_EQ(original_of.size(), source.nodes_of(type).count);
  EXPECT_EQ(distinct.size(), source.nodes_of(type).count);
  for (const graph::Partition& partition : partitions) {
    const graph::OwnedNodes& nodes = partition.nodes[type.value];
    for (const auto& [name, column] : source.nodes_of(type).columns) {
      for (uint64_t local = 0; local < nodes.count; ++local) {
        const auto original = static_cast<uint64_t>(nodes.original_ids.ValueAsInt(static_cast<int64_t>(local)));
        ASSERT_EQ(RowOf(nodes.columns.at(name), local), RowOf(column, original)) << name << " of " << original;
      }
    }
  }
}

// Expects that the owner of its destination has every edge exactly once, with its ends and columns.
void ExpectEdgesOf(const graph::SourceGraph& source, const std::vector<graph::Partition>& partitions, EdgeTypeId type) {
  const graph::EdgeSet& edges = source.edges_of(type);
  const std::vector<uint64_t> sources = OriginalIds(partitions, source.schema.SourceOf(type));
  std::set<uint64_t> seen;
  for (const graph::Partition& partition : partitions) {
    const graph::OwnedNodes& destinations = partition.nodes[source.schema.DestinationOf(type).value];
    const graph::InEdges& csc = partition.in_edges[type.value];
    for (uint64_t local = 0; local < destinations.count; ++local) {
      const auto row = static_cast<int64_t>(local);
      for (int64_t k = csc.indptr.ValueAsInt(row); k < csc.indptr.ValueAsInt(row + 1); ++k) {
        const int64_t edge = partition.original_edge_ids[type.value].ValueAsInt(k);
        ASSERT_TRUE(seen.insert(static_cast<uint64_t>(edge)).second) << edge;
        ASSERT_EQ(sources[static_cast<size_t>(csc.indices.ValueAsInt(k))],
                  static_cast<uint64_t>(edges.sources.ValueAsInt(edge)));
        ASSERT_EQ(destinations.original_ids.ValueAsInt(row), edges.destinations.ValueAsInt(edge));
        for (const auto& [name, column] : edges.columns) {
          ASSERT_EQ(RowOf(partition.edge_columns[type.value].at(name), static_cast<uint64_t>(k)),
                    RowOf(column, static_cast<uint64_t>(edge)));
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), edges.num_edges());
}

class EveryAlgorithmTest : public PartitionPipelineTest,
                           public ::testing::WithParamInterface<job::PartitionAlgorithm> {};

TEST_P(EveryAlgorithmTest, RoundTripsWholeGraph) {
  const auto outcome = Run(GraphOf(GetParam(), 3), {.threads = 2});
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  EXPECT_FALSE(outcome->reused);
  EXPECT_EQ(outcome->uri, Output() + "/" + outcome->partition_key);
  EXPECT_EQ(outcome->manifest.book.num_partitions(), 3u);
  EXPECT_EQ(outcome->manifest.graph_name, "typed");
  EXPECT_EQ(outcome->manifest.in_edge_order, "source,edge");
  EXPECT_GT(outcome->manifest.quality.replication, 1.0);
  EXPECT_GT(outcome->manifest.peak_memory_bytes, 0u);

  const std::vector<graph::Partition> partitions = LoadAll(*outcome);
  ASSERT_EQ(partitions.size(), 3u);
  for (uint16_t type = 0; type < 3; ++type) {
    ExpectNodesOf(source_, partitions, NodeTypeId(type));
    ExpectEdgesOf(source_, partitions, EdgeTypeId(type));
  }
}

TEST_P(EveryAlgorithmTest, ReusesPartitioningWithoutReadingSource) {
  const job::Graph graph = GraphOf(GetParam(), 2);
  const auto first = Run(graph);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  const std::set<std::string> files = Files();

  std::set<std::string> phases;
  const auto second = PartitionGraph(graph, 1, Output(), [&](std::string_view phase, double) { phases.emplace(phase); },
                                     {.threads = 3});
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_TRUE(second->reused);
  EXPECT_EQ(second->uri, first->uri);
  EXPECT_EQ(format::ManifestToJson(second->manifest), format::ManifestToJson(first->manifest));
  EXPECT_EQ(Files(), files);
  EXPECT_THAT(phases, ElementsAre("digesting"));
}

TEST_P(EveryAlgorithmTest, WritesTheSameBytesForAnyNumberOfThreads) {
  job::Graph graph = GraphOf(GetParam(), 3);
  graph.partitions.reuse = job::PartitionReuse::kNever;
  const auto one = Run(graph, {.threads = 1}), four = Run(graph, {.threads = 4});
  ASSERT_TRUE(one.ok() && four.ok());
  EXPECT_NE(one->uri, four->uri);  // `reuse: Never` makes a new partitioning
  for (size_t p = 0; p < 3; ++p) {
    EXPECT_EQ(one->manifest.partitions[p].graph.block_hashes, four->manifest.partitions[p].graph.block_hashes);
    EXPECT_EQ(one->manifest.partitions[p].node_columns.block_hashes,
              four->manifest.partitions[p].node_columns.block_hashes);
    EXPECT_EQ(one->manifest.partitions[p].edge_columns.block_hashes,
              four->manifest.partitions[p].edge_columns.block_hashes);
  }
  EXPECT_EQ(one->manifest.quality, four->manifest.quality);
}

// Neither run can commit before both have looked for an existing partitioning.
TEST_P(EveryAlgorithmTest, ConcurrentRunsLeaveOnePartitioning) {
  const job::Graph graph = GraphOf(GetParam(), 2);
  std::barrier both_write(2);
  const auto meet = [&](std::string_view phase, double fraction) {
    if (phase == "measuring" && fraction == 0) both_write.arrive_and_wait();
  };
  std::vector<Result<PartitionOutcome>> outcomes(2, Status(Internal("did not run")));
  {
    std::vector<std::jthread> threads;
    for (auto& outcome : outcomes) {
      threads.emplace_back([&] { outcome = PartitionGraph(graph, 1, Output(), meet, {}); });
    }
  }
  for (const auto& outcome : outcomes) ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  EXPECT_NE(outcomes[0]->reused, outcomes[1]->reused);
  EXPECT_EQ(format::ManifestToJson(outcomes[0]->manifest), format::ManifestToJson(outcomes[1]->manifest));
  std::set<std::string> attempts;
  for (const std::string& file : Files()) {
    if (file.find("/attempt-") != std::string::npos) attempts.insert(file.substr(0, file.find('/', 66)));
  }
  EXPECT_EQ(attempts.size(), 1u) << "the loser's files are gone";
  LoadAll(*outcomes[0]);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, EveryAlgorithmTest,
                         ::testing::Values(job::PartitionAlgorithm::kMetis, job::PartitionAlgorithm::kMultilevel,
                                           job::PartitionAlgorithm::kRandom, job::PartitionAlgorithm::kStreaming,
                                           job::PartitionAlgorithm::kExternal));

TEST_F(PartitionPipelineTest, TheDocumentsObjectiveReachesMetis) {
  const fs::path source = folder_ / "strong-rows";
  ASSERT_TRUE(format::WriteNpyFolder(partition::testing::GridOfStrongRows(8, 24), source).ok());
  job::Graph graph = GraphOf(job::PartitionAlgorithm::kMetis, 2);
  graph.source.uri = "file://" + source.string();
  const auto edge_cut = Run(graph);
  graph.partitions.objective = job::PartitionObjective::kCommunicationVolume;
  const auto volume = Run(graph);
  ASSERT_TRUE(edge_cut.ok() && volume.ok()) << edge_cut.status().ToString() << volume.status().ToString();
  EXPECT_LT(edge_cut->manifest.quality.cut_edges, volume->manifest.quality.cut_edges);
  EXPECT_LT(volume->manifest.quality.replication, edge_cut->manifest.quality.replication);
}

TEST_F(PartitionPipelineTest, StopLeavesNoFiles) {
  int questions = 0;
  const auto outcome = Run(GraphOf(job::PartitionAlgorithm::kRandom, 4),
                           {.stop_requested = [&] { return ++questions > 8; }});  // in the middle of writing
  EXPECT_EQ(outcome.status().code(), StatusCode::kCancelled);
  EXPECT_THAT(outcome.status().message(), HasSubstr("writing"));
  EXPECT_TRUE(Files().empty());
}

TEST_F(PartitionPipelineTest, DeletesFilesOfKilledAttempts) {
  const job::Graph graph = GraphOf(job::PartitionAlgorithm::kRandom, 2);
  const auto probe = Run(graph);
  ASSERT_TRUE(probe.ok());
  fs::remove(fs::path(probe->uri) / "manifest.json");  // as if that attempt had been killed before its commit

  const auto outcome = Run(graph);
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  EXPECT_FALSE(outcome->reused);
  EXPECT_FALSE(fs::exists(fs::path(probe->uri) / probe->manifest.attempt / "part-00000"));
  EXPECT_EQ(LoadAll(*outcome).size(), 2u);
}

TEST_F(PartitionPipelineTest, NamesMissingFile) {
  const job::Graph graph = GraphOf(job::PartitionAlgorithm::kRandom, 2);
  const auto outcome = Run(graph);
  ASSERT_TRUE(outcome.ok());
  const std::string lost = outcome->manifest.partitions[1].graph.key;
  fs::remove(fs::path(outcome->uri) / lost);
  const Status refused = Run(graph).status();
  EXPECT_EQ(refused.code(), StatusCode::kDataLoss);
  EXPECT_THAT(refused.message(), HasSubstr(lost));
}

TEST_F(PartitionPipelineTest, BadInputLeavesNoFiles) {
  job::Graph external = GraphOf(job::PartitionAlgorithm::kExternal, 3);
  external.partitions.count = 2;  // the assignment names partition 2
  EXPECT_THAT(Run(external).status().message(), HasSubstr("does not exist, expected 0 to 1"));

  external.partitions.assignment_uri = (folder_ / "nowhere").string();
  EXPECT_THAT(Run(external).status().message(), HasSubstr("the given assignment to partitions: there is no file or"));

  job::Graph missing = GraphOf(job::PartitionAlgorithm::kMetis, 2);
  missing.source.uri = (folder_ / "nowhere").string();
  EXPECT_FALSE(Run(missing).ok());

  job::Graph timed = GraphOf(job::PartitionAlgorithm::kMetis, 2);
  timed.time_column = "when";
  EXPECT_THAT(Run(timed).status().message(), HasSubstr("'when'"));
  EXPECT_TRUE(Files().empty());
}

TEST_F(PartitionPipelineTest, SplitIsOptionalWithoutTraining) {
  const job::Graph graph = GraphOf(job::PartitionAlgorithm::kRandom, 2);
  for (const char* type : {"cites", ""}) {
    const graph::HeldOutEdges held_out{"links", type, ""};
    EXPECT_EQ(Run(graph, {.held_out = held_out}).status().code(), StatusCode::kNotFound);
    const Result<PartitionOutcome> outcome = Run(graph, {.held_out = held_out, .needs_split = false});
    ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
    EXPECT_FALSE(outcome->reused);
    for (size_t type_id = 0; type_id < source_.edges.size(); ++type_id) {
      ExpectEdgesOf(source_, LoadAll(*outcome), EdgeTypeId(static_cast<uint16_t>(type_id)));
    }
  }
  // A misspelled edge type is still an error.
  const graph::HeldOutEdges unknown{"links", "sites", ""};
  EXPECT_THAT(Run(graph, {.held_out = unknown, .needs_split = false}).status().message(), HasSubstr("'sites'"));
}

TEST_F(PartitionPipelineTest, OrdersInEdgesByTheTimeColumn) {
  job::Graph graph = GraphOf(job::PartitionAlgorithm::kRandom, 2);
  graph.time_column = "year";
  const auto outcome = Run(graph);
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  EXPECT_EQ(outcome->manifest.in_edge_order, "time:year,source,edge");
  for (const graph::Partition& partition : LoadAll(*outcome)) {
    const graph::InEdges& csc = partition.in_edges[0];
    const Tensor& years = partition.edge_columns[0].at("year");
    for (int64_t row = 0; row + 1 < csc.indptr.num_rows(); ++row) {
      for (int64_t k = csc.indptr.ValueAsInt(row) + 1; k < csc.indptr.ValueAsInt(row + 1); ++k) {
        ASSERT_LE(years.ValueAsInt(k - 1), years.ValueAsInt(k));
      }
    }
  }
}

TEST_F(PartitionPipelineTest, SourceColumnsPassVerification) {
  job::Graph graph = GraphOf(job::PartitionAlgorithm::kRandom, 2);
  const auto plain = Run(graph);
  graph.partitions.source_columns = {"original_id"};
  const auto outcome = Run(graph);
  ASSERT_TRUE(plain.ok() && outcome.ok()) << outcome.status().ToString();
  EXPECT_NE(outcome->uri, plain->uri);
  ASSERT_TRUE(LoadAll(*outcome)[0].edge_columns[0].contains("source.original_id"));
  const storage::StoreLocation location = *storage::OpenStore(outcome->uri);
  const auto report = format::VerifyPartitioning(*location.store, location.prefix, {.source = &source_});
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_THAT(report->violations, ::testing::IsEmpty());
}

TEST_F(PartitionPipelineTest, ExportsMappingsThatAgreeWithTheBook) {
  job::Graph graph = GraphOf(job::PartitionAlgorithm::kExternal, 3);
  graph.preprocess.drop_self_loops = true;
  const auto outcome = Run(graph);
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  const storage::StoreLocation location = *storage::OpenStore(outcome->uri);
  const std::string directory = folder_ / "mappings";
  const Status exported = ExportMappings(*location.store, location.prefix, outcome->manifest, {}, directory);
  ASSERT_TRUE(exported.ok()) << exported.ToString();

  const Tensor partition_of = *format::ReadNpy(directory + "/nodes.paper.partition.npy");
  const Tensor global_of = *format::ReadNpy(directory + "/nodes.paper.global.npy");
  ASSERT_EQ(partition_of.num_rows(), 180);
  for (int64_t node = 0; node < 180; ++node) {
    EXPECT_EQ(static_cast<uint64_t>(partition_of.ValueAsInt(node)), AssignedPartition(static_cast<uint64_t>(node), 3));
    const GlobalNodeId global(static_cast<uint64_t>(global_of.ValueAsInt(node)));
    EXPECT_EQ(outcome->manifest.book.OwnerOf(NodeTypeId(1), global).value, partition_of.ValueAsInt(node));
  }
  // Dropped self loops have -1; all other edges have a global ID.
  const Tensor edges = *format::ReadNpy(directory + "/edges.paper:cites:paper.global.npy");
  std::set<int64_t> globals;
  for (int64_t edge = 0; edge < edges.num_rows(); ++edge) {
    const graph::EdgeSet& cites = source_.edges[2];
    const bool is_loop = cites.sources.ValueAsInt(edge) == cites.destinations.ValueAsInt(edge);
    EXPECT_EQ(edges.ValueAsInt(edge) == -1, is_loop) << edge;
    if (!is_loop) globals.insert(edges.ValueAsInt(edge));
  }
  EXPECT_EQ(globals.size(), outcome->manifest.book.num_edges(EdgeTypeId(2)));
}

TEST_F(PartitionPipelineTest, CountsTheBytesOfPhases) {
  std::map<std::string, WorkMeter> meters;
  const auto outcome = Run(GraphOf(job::PartitionAlgorithm::kStreaming, 3),
                           {.get_meter = [&](std::string_view phase) { return &meters[std::string(phase)]; }});
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  uint64_t written = 0;
  for (const format::PartitionEntry& partition : outcome->manifest.partitions) written += partition.size_bytes();
  EXPECT_EQ(meters["writing"].done_bytes(), written);
  EXPECT_GT(meters["writing"].expected_bytes(), written - 3);  // the estimate uses a mean that is rounded down
  EXPECT_GT(meters["cutting"].done_bytes(), 0u);
}

TEST_F(PartitionPipelineTest, MissingNamesFailBeforeCut) {
  const job::Graph graph = GraphOf(job::PartitionAlgorithm::kMetis, 2);
  const Status missed = InvalidArgument("papers have no split 'random'");
  PartitionPipelineOptions options;
  options.check_names = [&](const GraphMetadata& metadata) {
    EXPECT_TRUE(metadata.node_splits[1].contains("public"));
    return metadata.node_splits[1].contains("random") ? Status() : missed;
  };
  std::vector<std::string> phases;
  const auto note = [&](std::string_view phase, double fraction) {
    if (fraction == 0) phases.emplace_back(phase);
  };
  EXPECT_EQ(PartitionGraph(graph, /*seed=*/1, Output(), note, options).status(), missed);
  EXPECT_THAT(phases, ElementsAre("digesting", "reading"));
  EXPECT_TRUE(Files().empty());
  // An existing partitioning is not reused either.
  ASSERT_TRUE(Run(graph).ok());
  EXPECT_EQ(Run(graph, options).status(), missed);
}

TEST_F(PartitionPipelineTest, PartitioningHasNamesOfSource) {
  job::Graph graph = GraphOf(job::PartitionAlgorithm::kRandom, 2);
  graph.preprocess.add_reverse_edges = true;
  graph.partitions.source_columns = {graph::kOriginalIdColumn, source_.nodes[1].columns.begin()->first};
  const EdgeTypeId cites = *source_.schema.FindEdgeType("cites");
  source_.edge_splits["links"][cites.value].train = {.sources = {0}, .destinations = {1}};
  ASSERT_TRUE(format::WriteNpyFolder(source_, folder_ / "links").ok());
  graph.source.uri = (folder_ / "links").string();
  std::vector<GraphMetadata> seen;
  PartitionPipelineOptions options;
  options.check_names = [&](const GraphMetadata& metadata) {
    seen.push_back(metadata);
    return Status();
  };
  ASSERT_TRUE(Run(graph, options).ok());
  ASSERT_TRUE(Run(graph, options).ok());
  ASSERT_EQ(seen.size(), 2u);                   // once for the source, once for its partitioning
  for (auto& columns : seen[1].edge_columns) {  // not known for a source before its values are read
    for (auto& [name, header] : columns) header = {header.dtype, header.row_shape};
  }
  EXPECT_EQ(seen[0].schema, seen[1].schema);
  EXPECT_EQ(seen[0].node_columns, seen[1].node_columns);
  EXPECT_EQ(seen[0].edge_columns, seen[1].edge_columns);
  EXPECT_EQ(seen[0].node_splits, seen[1].node_splits);
  EXPECT_EQ(seen[0].edge_splits, seen[1].edge_splits);
  const EdgeTypeId back = *seen[0].schema.FindEdgeType("rev_cites");
  EXPECT_EQ(seen[0].edge_splits[back.value], (std::map<std::string, PartSizes>{{"links", {.train = 1}}}));
}

// For a reused partitioning, the headers reject a document that uses such a column as a feature.
TEST_F(PartitionPipelineTest, PartitioningRecordsColumnsWithMissingValues) {
  job::Graph graph = GraphOf(job::PartitionAlgorithm::kRandom, 2);
  graph.preprocess.add_reverse_edges = true;
  graph.partitions.source_columns = {"score"};
  const uint16_t paper = source_.schema.FindNodeType("paper")->value;
  const EdgeTypeId cites = *source_.schema.FindEdgeType("cites");
  std::vector<float> scores(source_.nodes[paper].count, 1), labels(source_.edges[cites.value].num_edges(), 1);
  source_.nodes[paper].columns["kept"] = Tensor::FromVector(scores);
  scores.back() = labels.back() = std::numeric_limits<float>::quiet_NaN();
  source_.nodes[paper].columns["score"] = Tensor::FromVector(scores);
  source_.edges[cites.value].columns["edge_label"] = Tensor::FromVector(labels);
  ASSERT_TRUE(format::WriteNpyFolder(source_, folder_ / "missing").ok());
  graph.source.uri = (folder_ / "missing").string();
  PartitionPipelineOptions options;
  options.label_columns = {"score", "kept"};
  ASSERT_TRUE(Run(graph, options).ok());
  GraphMetadata reused;
  options.check_names = [&](const GraphMetadata& metadata) {
    reused = metadata;
    return Status();
  };
  ASSERT_TRUE(Run(graph, options)->reused);
  EXPECT_TRUE(reused.node_columns[paper].at("score").lacks_values);
  EXPECT_FALSE(reused.node_columns[paper].at("kept").lacks_values);
  for (const char* const relation : {"cites", "rev_cites"}) {
    const auto& columns = reused.edge_columns[reused.schema.FindEdgeType(relation)->value];
    EXPECT_TRUE(columns.at("edge_label").lacks_values) << relation;
    EXPECT_TRUE(columns.at(graph::SourceColumnName("score")).lacks_values) << relation;
  }
}

TEST_F(PartitionPipelineTest, ReportsInOneLineOfJson) {
  const auto outcome = Run(GraphOf(job::PartitionAlgorithm::kMetis, 2));
  ASSERT_TRUE(outcome.ok());
  const std::string report = ReportAsJson(*outcome);
  EXPECT_THAT(report, Not(Contains('\n')));
  EXPECT_THAT(report, HasSubstr("\"partitionKey\":\"" + outcome->partition_key + "\""));
  EXPECT_THAT(report, HasSubstr("\"reused\":false"));
  EXPECT_THAT(ReportAsText(*outcome), HasSubstr("in 2 partitions by METIS"));
}

}  // namespace
}  // namespace espalier::partitioner
