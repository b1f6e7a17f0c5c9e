// The generated graph that the benchmarks share. It has the shape of ogbn-products.
#pragma once

#include <memory>

#include "services/sampler/routing/partitioned_graph.h"
#include "services/shard/graph_shard.h"

namespace espalier::benchmarks {

struct BenchGraphOptions {
  double scale = 1.0;  // 1 is 2.4 M nodes and 123 M edges
  uint32_t num_partitions = 1;
  int64_t feature_width = 0;
  bool edge_weights = false;
  bool source_ids = false;  // edge column with the sources' original ids, which LABOR needs: 4 bytes per edge
  // If above 0, there is an edge column kTimeColumn with times in [0, num_times), and in-edges are sorted by time.
  uint16_t num_times = 0;
  int threads = 2;
  uint64_t seed = 1;
};

inline constexpr const char* kTimeColumn = "time";

struct BenchGraph {
  std::vector<std::shared_ptr<shard::GraphShard>> shards;
  std::unique_ptr<sampler::PartitionedGraph> graph;  // over the shards, which are in this process, without RPC
};

// Generates and partitions the graph; prints its progress to stdout. Aborts the process on errors.
BenchGraph MakeBenchGraph(const BenchGraphOptions& options);

}  // namespace espalier::benchmarks
