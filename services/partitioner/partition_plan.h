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
  std::string train_split;  // the split whose training nodes are balanced if partitions.balance contains TrainNodes
  std::vector<std::string> label_columns;            // label columns in addition to "node-label", in any order
  int threads = 1;                                   // number of threads; results do not depend on it
  std::optional<graph::HeldOutEdges> held_out = {};  // validation and test edges of link prediction
};

format::SourceFormat ToSourceFormat(job::GraphFormat format);

// Returns the dtype, or nullopt for kSource, which keeps the dtypes of the source.
std::optional<DType> ToDType(job::FeatureDType dtype);

// Returns options with the label columns "node-label", then the others, sorted and without repetitions.
graph::PreprocessOptions ToPreprocessOptions(const job::Preprocess& preprocess, const PartitionContext& context);

// Returns the edges that message passing must not use, because link prediction is evaluated on them. Returns nullopt
// for other tasks.
std::optional<graph::HeldOutEdges> ToHeldOutEdges(const job::Task& task);

// Returns options with sorted balance constraints, without repetitions. Sets train_split only if kTrainNodes is one of
// the constraints. Does not set meter, memory_bytes and make_scratch.
partition::PartitionOptions ToPartitionOptions(const job::Partitions& partitions, const PartitionContext& context);

// Returns the partitioner of the algorithm. `assignment` is the user's assignment by node type, which only External
// uses.
std::unique_ptr<partition::Partitioner> MakePartitioner(job::PartitionAlgorithm algorithm,
                                                        std::vector<Tensor> assignment);

}  // namespace espalier::partitioner
