// Quality metrics of an assignment.
#pragma once

#include <map>
#include <string>

#include "services/graph/source_graph.h"
#include "services/partition/partitioner.h"

namespace espalier::partition {

struct Quality {
  uint64_t cut_edges = 0;  // directed edges whose endpoints have different owners
  double cut_ratio = 0;    // cut_edges / edges; 0 if there are no edges
  // (nodes + the sum over the partitions of distinct remote in-neighbors) / nodes; 0 if there are no nodes.
  double replication = 0;
  // Largest partition divided by the average, by quantity: "nodes", "nodes:paper" (if there are several types),
  // "train-nodes" and "edges". Quantities that are 0 in all partitions are omitted.
  std::map<std::string, double> balance;
  friend bool operator==(const Quality&, const Quality&) = default;
};

struct QualityOptions {
  uint32_t num_partitions = 1;
  std::string train_split;  // for "train-nodes"; empty: all splits
  int threads = 1;
  // Memory for the bitmaps of remote in-neighbors: for each partition, a bitmap of one bit per node. If not all of the
  // bitmaps fit, the edges are read in several passes.
  uint64_t bitmap_bytes = uint64_t{128} << 20;
};

// The contribution of one partition's in-edges to the quality.
struct InEdgeQuality {
  uint64_t edges = 0;             // all in-edges
  uint64_t cut_edges = 0;         // in-edges with sources that other partitions own
  uint64_t remote_neighbors = 0;  // the distinct sources of cut edges
};

// Returns the contribution of a partition. `in_edges` contains exactly the edges whose destinations the partition owns;
// they must have passed CheckEdges. Memory: one bit per node.
InEdgeQuality MeasureInEdgeQuality(const graph::SourceGraph& in_edges, const Assignment& assignment,
                                   PartitionId partition, int threads);

// Returns the quality of an assignment from the contributions by PartitionId. Reads only the nodes and splits of
// `graph`. InvalidArgument if the assignment does not match the nodes or the number of contributions. Other errors:
// those of ForTrainingNodes (balance.h).
Result<Quality> MeasureQuality(const graph::SourceGraph& graph, const Assignment& assignment,
                               const std::vector<InEdgeQuality>& of_partition, const std::string& train_split);

// Returns the quality of an assignment. InvalidArgument if it does not match the graph or num_partitions; OutOfRange
// for edges whose endpoints do not exist. Other errors: those of ForTrainingNodes (balance.h).
Result<Quality> MeasureQuality(const graph::SourceGraph& graph, const Assignment& assignment,
                               const QualityOptions& options);

}  // namespace espalier::partition
