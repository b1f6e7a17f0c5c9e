// How good an assignment is.
#pragma once

#include <map>
#include <string>

#include "services/graph/source_graph.h"
#include "services/partition/partitioner.h"

namespace espalier::partition {

struct Quality {
  uint64_t cut_edges = 0;  // directed edges whose ends have different owners
  double cut_ratio = 0;    // cut_edges / edges; 0 where there are none
  double replication = 0;  // (owned + remote in-neighbours, distinct per partition) / nodes; 0 where there are none
  // "nodes", "nodes:paper" (where there are several types), "train-nodes", "edges" -> largest partition / average.
  // What nothing counts towards is left out.
  std::map<std::string, double> balance;
  friend bool operator==(const Quality&, const Quality&) = default;
};

struct QualityOptions {
  uint32_t num_partitions = 1;
  std::string train_split;  // for "train-nodes"; empty: every split's
  int threads = 1;
  // Marks which nodes a partition reads; more partitions than fit at once take more passes over the edges.
  uint64_t bitmap_bytes = uint64_t{128} << 20;
};

// What the in-edges of one partition add to a quality.
struct InEdgeQuality {
  uint64_t edges = 0;
  uint64_t cut_edges = 0;         // whose sources others own
  uint64_t remote_neighbors = 0;  // those sources, each counted once
};

// Of a partition, where `in_edges` holds its in-edges and no others, which must have passed CheckEdges. Memory: a bit a
// node.
InEdgeQuality MeasureInEdgeQuality(const graph::SourceGraph& in_edges, const Assignment& assignment,
                                   PartitionId partition, int threads);

// The quality of a graph whose edges have been counted, by PartitionId: only its nodes and splits are looked at.
Result<Quality> MeasureQuality(const graph::SourceGraph& graph, const Assignment& assignment,
                               const std::vector<InEdgeQuality>& of_partition, const std::string& train_split);

// InvalidArgument where the assignment does not fit the graph or num_partitions, OutOfRange for bad edges.
Result<Quality> MeasureQuality(const graph::SourceGraph& graph, const Assignment& assignment,
                               const QualityOptions& options);

}  // namespace espalier::partition
