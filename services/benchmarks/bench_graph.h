// The graph that the benchmarks of sampling and gathering share: ogbn-products' shape, generated.
#pragma once

#include <memory>

#include "services/sampler/routing/partitioned_graph.h"
#include "services/shard/graph_shard.h"

namespace espalier::benchmarks {

struct BenchGraphOptions {
  double scale = 1.0;  // of 2.4 M nodes and 123 M edges
  uint32_t num_partitions = 1;
  int64_t feature_width = 0;
  bool edge_weights = false;
  bool source_ids = false;  // what LABOR needs: 4 bytes an edge
  uint16_t num_times = 0;   // a column kTimeColumn with times below this, which orders in-edges; 0: none
  int threads = 2;
  uint64_t seed = 1;
};

inline constexpr const char* kTimeColumn = "time";

struct BenchGraph {
  std::vector<std::shared_ptr<shard::GraphShard>> shards;
  std::unique_ptr<sampler::PartitionedGraph> graph;  // over the shards, as with mapped access
};

// Prints what it does; ends the process where the graph cannot be made.
BenchGraph MakeBenchGraph(const BenchGraphOptions& options);

}  // namespace espalier::benchmarks
