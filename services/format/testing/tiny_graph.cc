#include "services/format/testing/tiny_graph.h"

#include "services/format/partition/partition_files.h"
#include "services/format/results/node_results.h"
#include "services/partition/quality.h"

namespace espalier::format {
namespace {

partition::Assignment TinyAssignment() { return {{0, 1, 0}, {0, 1, 0, 1, 0}}; }

Tensor Halves(const std::vector<float>& values) {
  Tensor halves = Tensor::Zeros(DType::kF16, {static_cast<int64_t>(values.size())});
  auto* bits = reinterpret_cast<uint16_t*>(halves.mutable_bytes());
  for (size_t i = 0; i < values.size(); ++i) bits[i] = FloatToHalf(values[i]);
  return halves;
}

Tensor Bools(const std::vector<uint8_t>& values) {
  Tensor bools = Tensor::Zeros(DType::kBool, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) bools.mutable_bytes()[i] = std::byte{values[i]};
  return bools;
}

std::vector<ColumnEntry> Describe(const std::map<std::string, Tensor>& columns) {
  std::vector<ColumnEntry> entries;
  for (const auto& [name, column] : columns) {
    entries.push_back({name, column.dtype(), {column.shape().begin() + 1, column.shape().end()}});
  }
  return entries;
}

}  // namespace

graph::SourceGraph TinyGraph() {
  graph::SourceGraph graph;
  graph.name = "tiny";
  graph.schema =
      *graph::GraphSchema::Make({"paper", "author"}, {{"author", "writes", "paper"}, {"paper", "cites", "paper"}});
  graph.nodes.resize(2);
  graph.nodes[0].count = 3;
  graph.nodes[1].count = 5;
  graph.nodes[1].columns["feat"] = Tensor::FromVector<float>({0, 0.5F, 1, 1.5F, 2, 2.5F, 3, 3.5F, 4, 4.5F}, {5, 2});
  graph.nodes[1].columns["half"] = Halves({0, -1, 0.25F, 65504, 6});
  graph.nodes[1].columns["label"] = Tensor::FromVector<int64_t>({2, 0, -1, 1, 2});
  graph.nodes[1].columns["is_new"] = Bools({1, 0, 0, 1, 1});
  graph.edges.resize(2);
  graph.edges[0].sources = Tensor::FromVector<uint32_t>({0, 0, 1, 1});
  graph.edges[0].destinations = Tensor::FromVector<uint32_t>({0, 1, 1, 4});
  graph.edges[1].sources = Tensor::FromVector<int64_t>({0, 0, 2, 2, 2, 4, 1});
  graph.edges[1].destinations = Tensor::FromVector<int64_t>({1, 4, 1, 1, 1, 0, 1});
  graph.edges[1].columns["time"] = Tensor::FromVector<int64_t>({5, 1, 7, -3, 7, 0, 5});
  graph.edges[1].columns["weight"] = Tensor::FromVector<float>({1, 2, 3, 4, 5, 6, 7});
  graph.splits["public"][1] = {.train = {0, 1, 3}, .validation = {4}, .test = {}};
  return graph;
}

partition::PartitionSet TinyPartitions(const graph::SourceGraph& graph,
                                       const std::vector<std::string>& source_columns) {
  auto set = partition::BuildAllPartitions(graph, TinyAssignment(), 2,
                                           {.threads = 1, .time_column = "time", .source_columns = source_columns});
  ESPALIER_CHECK(set.ok()) << set.status().ToString();
  return *std::move(set);
}

Manifest TinyManifest(const graph::SourceGraph& graph, const partition::PartitionSet& set) {
  Manifest manifest;
  manifest.partition_key = std::string(60, '0') + "beef";
  manifest.attempt = "attempt-1";
  manifest.graph_name = graph.name;
  manifest.algorithm = "External";
  manifest.seed = 7;
  manifest.in_edge_order = "time:time,source,edge";
  manifest.book = set.book;
  for (const graph::OwnedNodes& nodes : set.partitions[0].nodes) {
    manifest.node_columns.push_back(Describe(nodes.columns));
  }
  for (const auto& columns : set.partitions[0].edge_columns) manifest.edge_columns.push_back(Describe(columns));
  for (const auto& [name, types] : graph.splits) {
    for (const auto& [type, split] : types) {
      manifest.splits.push_back({name, type, split.train.size(), split.validation.size(), split.test.size()});
    }
  }
  const auto quality = partition::MeasureQuality(graph, TinyAssignment(), {.num_partitions = 2});
  ESPALIER_CHECK(quality.ok()) << quality.status().ToString();
  manifest.quality = {quality->cut_edges, quality->cut_ratio, quality->replication, quality->balance};
  manifest.partition_seconds = 0.125;
  manifest.peak_memory_bytes = 4096;
  return manifest;
}

Result<Manifest> WritePartitioning(storage::ObjectStore& store, const std::string& prefix,
                                   const partition::PartitionSet& set, Manifest manifest) {
  manifest.partitions.clear();
  for (const graph::Partition& partition : set.partitions) {
    ASSIGN_OR_RETURN(manifest.partitions.emplace_back(),
                     WritePartition(store, prefix, manifest.attempt, set.book, partition));
  }
  RETURN_IF_ERROR(CommitManifest(store, prefix, manifest));
  return manifest;
}

Manifest WriteTinyPartitioning(storage::ObjectStore& store, const std::string& prefix) {
  const graph::SourceGraph graph = TinyGraph();
  const partition::PartitionSet set = TinyPartitions(graph);
  auto manifest = WritePartitioning(store, prefix, set, TinyManifest(graph, set));
  ESPALIER_CHECK(manifest.ok()) << manifest.status().ToString();
  return *std::move(manifest);
}

void WriteGoldenFiles(storage::ObjectStore& store) {
  const Manifest manifest = WriteTinyPartitioning(store, "");
  NodeResultsWriter results(store, "results", "embeddings",
                            {{"graph", "tiny"}, {"partition_key", manifest.partition_key}});
  const auto check = [](const Status& status) { ESPALIER_CHECK(status.ok()) << status.ToString(); };
  check(results.Begin({"paper", 5, DType::kU64, DType::kF32, {2}}));
  check(results.Append(Tensor::FromVector<uint64_t>({0, 1, 2, 3, 4}),
                       Tensor::FromVector<float>({0, 0.5F, 1, 1.5F, 2, 2.5F, 3, 3.5F, 4, 4.5F}, {5, 2})));
  check(results.Commit().status());
}

}  // namespace espalier::format
