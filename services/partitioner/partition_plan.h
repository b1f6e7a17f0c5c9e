// What a job document asks of partitioning, in the words of the libraries that do it.
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

// What the rest of the document says about a partitioning.
struct PartitionContext {
  uint64_t seed = 0;
  std::string train_split;                           // balanced where the document asks for TrainNodes
  std::vector<std::string> label_columns;            // no features, as "node-label" is none; in any order
  int threads = 1;                                   // results do not depend on it
  std::optional<graph::HeldOutEdges> held_out = {};  // validation and test edges of a task on edges
};

format::SourceFormat ToSourceFormat(job::GraphFormat format);

// Returns nullopt for kSource.
std::optional<DType> ToDType(job::FeatureDType dtype);

graph::PreprocessOptions PreprocessOptionsFor(const job::Preprocess& preprocess, const PartitionContext& context);

// What a task's evaluation needs held out of message passing; none for tasks on nodes.
std::optional<graph::HeldOutEdges> HeldOutBy(const job::Task& task);

// Balance constraints sorted and without repetitions; train_split only where it matters.
partition::PartitionOptions PartitionOptionsFor(const job::Partitions& partitions, const PartitionContext& context);

// `assignment` is External's, by node type.
std::unique_ptr<partition::Partitioner> PartitionerFor(job::PartitionAlgorithm algorithm,
                                                       std::vector<Tensor> assignment);

}  // namespace espalier::partitioner
