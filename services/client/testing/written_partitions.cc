#include "services/client/testing/written_partitions.h"

#include "services/format/partition/partition_files.h"
#include "services/shard/testing/test_graph.h"
#include "services/storage/open_store.h"

namespace espalier::client::testing {
namespace {

constexpr uint64_t kSeedOfCut = 11;  // as in served_graph.cc

format::ColumnEntry ToColumnEntry(const std::string& name, const Tensor& tensor) {
  return {name, tensor.dtype(), {tensor.shape().begin() + 1, tensor.shape().end()}};
}

// Data about the whole graph that every partition has.
void Describe(const graph::Partition& partition, format::Manifest* manifest) {
  for (const graph::OwnedNodes& nodes : partition.nodes) {
    auto& columns = manifest->node_columns.emplace_back();
    for (const auto& [name, tensor] : nodes.columns) {
      columns.push_back(ToColumnEntry(name, tensor));
      const auto scales = nodes.scales.find(name);
      if (scales != nodes.scales.end()) columns.back().scales = scales->second;
    }
  }
  for (const auto& edge_columns : partition.edge_columns) {
    auto& columns = manifest->edge_columns.emplace_back();
    for (const auto& [name, tensor] : edge_columns) columns.push_back(ToColumnEntry(name, tensor));
  }
  for (const auto& [name, by_type] : partition.splits) {
    for (const auto& [type, parts] : by_type) {
      manifest->splits.push_back({name, type, parts[0].total, parts[1].total, parts[2].total});
    }
  }
  for (const auto& [name, by_type] : partition.edge_splits) {
    for (const auto& [type, parts] : by_type) {
      manifest->edge_splits.push_back({name, type, parts[0].total, parts[1].total, parts[2].total});
    }
  }
}

}  // namespace

std::string WritePartitions(const graph::SourceGraph& source, uint32_t num_partitions, const std::string& folder,
                            const std::string& key) {
  const std::string uri = "file://" + folder;
  format::Manifest manifest;
  const std::vector<graph::Partition> partitions =
      shard::testing::MakeTestPartitions(source, num_partitions, kSeedOfCut, &manifest.book);
  const auto at = storage::OpenStore(uri);
  ESPALIER_CHECK(at.ok()) << at.status().ToString();
  manifest.partition_key = key;
  manifest.attempt = "attempt-0";
  manifest.graph_name = "small";
  manifest.algorithm = "Random";
  manifest.in_edge_order = "source,edge";
  for (const graph::Partition& partition : partitions) {
    auto entry = format::WritePartition(*at->store, at->prefix, manifest.attempt, manifest.book, partition);
    ESPALIER_CHECK(entry.ok()) << entry.status().ToString();
    manifest.partitions.push_back(*std::move(entry));
  }
  Describe(partitions[0], &manifest);
  manifest.format_version = format::NeededVersion(manifest);
  const Status committed = format::CommitManifest(*at->store, at->prefix, manifest);
  ESPALIER_CHECK(committed.ok()) << committed.ToString();
  return uri;
}

}  // namespace espalier::client::testing
