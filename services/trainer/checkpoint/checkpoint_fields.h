// What decides a run's numbers, by name: a checkpoint goes on only in a run that agrees on all of it. Left out is
// what may change on the way: epochs (going on for longer), outputs, timeouts, processes and their places.
#pragma once

#include <map>
#include <string>

#include "services/graph/partition_book.h"
#include "services/job/dist_training.h"

namespace espalier::trainer {

// The task's edge types by their canonical names, whichever way the document names them. Older checkpoints lack it.
inline constexpr char kCanonicalEdgeTypes[] = "training.task.edgeTypes";

// What the fields say besides the document.
struct GraphFacts {
  const graph::PartitionBook& book;
  NodeTypeId seed_type;
  int64_t num_outputs = 0;
  uint32_t steps_per_epoch = 0;
  uint64_t inference_chunk_nodes = 0;
  std::string module_digest;     // SHA-256 of a user's module; empty: none
  int64_t num_edge_outputs = 0;  // of a head for edges; 0: none
};

// "training.optimizer.learningRate" -> "0.01": paths are the document's below spec, or begin with "graph.num".
std::map<std::string, std::string> DecidingFields(const job::DistTraining& job, const GraphFacts& graph);

}  // namespace espalier::trainer
