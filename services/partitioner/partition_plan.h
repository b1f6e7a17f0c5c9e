// Converts a job document to the options of the libraries that read, preprocess and partition its graph.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/format/source/source_reader.h"
#include "services/graph/preprocess.h"
#include "services/job/dist_training.h"
#include "services/partition/partitioner.h"

namespace espalier::partitioner {

// Options of a partitioning that are not in the graph section of the document.
struct PartitionContext {
  uint64_t seed = 0;
  std::string train_split;                           // its training nodes are balanced by TrainNodes
  std::vector<std::string> label_columns;            // not features, in addition to "node-label"; in any order
  int threads = 1;                                   // results do not depend on it
  std::optional<graph::HeldOutEdges> held_out = {};  // validation and test edges of link prediction
};

format::SourceFormat ToSourceFormat(job::GraphFormat format);

// Returns nullopt for kSource.
std::optional<DType> ToDType(job::FeatureDType dtype);

graph::PreprocessOptions PreprocessOptionsFor(const job::Preprocess& preprocess, const PartitionContext& context);

// Returns the edges that message passing must not use, because link prediction is evaluated on them. Returns nullopt
// for other tasks.
std::optional<graph::HeldOutEdges> HeldOutBy(const job::Task& task);

// Sorts the balance constraints and removes repetitions. Sets train_split only if TrainNodes is one of them.
partition::PartitionOptions PartitionOptionsFor(const job::Partitions& partitions, const PartitionContext& context);

// `assignment` is the user's assignment by node type, which only External uses.
std::unique_ptr<partition::Partitioner> PartitionerFor(job::PartitionAlgorithm algorithm,
                                                       std::vector<Tensor> assignment);

}  // namespace espalier::partitioner
