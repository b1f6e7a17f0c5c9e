#include "services/server/main/partition_metrics.h"

namespace espalier::server {

void SetPartitionMetrics(const LoadedPartition& loaded, double load_seconds, telemetry::MetricRegistry& registry) {
  const graph::Partition& partition = loaded.shard->data();
  const std::string index = std::to_string(partition.id.value);
  const auto set = [&](const char* name, const char* help, double value, telemetry::Labels labels = {}) {
    labels["partition"] = index;
    registry.AddGauge(name, help, labels).Set(value);
  };
  uint64_t nodes = 0;
  for (const graph::OwnedNodes& of_type : partition.nodes) nodes += of_type.count;
  uint64_t edges = 0;
  for (const graph::InEdges& of_type : partition.in_edges) edges += of_type.indices.num_elements();
  const format::PartitionEntry& files = loaded.manifest.partitions.at(partition.id.value);

  set("espalier_partition_nodes_count", "Nodes that the partition owns, of all types.", static_cast<double>(nodes));
  set("espalier_partition_edges_count", "In-edges of the partition's nodes, of all types.", static_cast<double>(edges));
  set("espalier_partition_file_bytes", "Size of the files with the partition's structure and node columns.",
      static_cast<double>(files.graph.size_bytes + files.node_columns.size_bytes));
  set("espalier_partition_cut_ratio", "Share of the graph's edges that connect different partitions.",
      loaded.manifest.quality.cut_ratio);
  set("espalier_partition_load_seconds", "Seconds from the start of loading until every file was checked.",
      load_seconds);
  const char* const copied = "Bytes of files that could not be mapped in place: copied now, or found in the cache.";
  set("espalier_partition_copied_bytes", copied, static_cast<double>(loaded.copied.fetched), {{"from", "store"}});
  set("espalier_partition_copied_bytes", copied, static_cast<double>(loaded.copied.found), {{"from", "cache"}});
}

}  // namespace espalier::server
