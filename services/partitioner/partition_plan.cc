// Enumerations are converted by switches without a default, so that the compiler reports a value that is not handled.
#include "services/partitioner/partition_plan.h"

#include <algorithm>
#include <set>

namespace espalier::partitioner {
namespace {

partition::Objective ToObjective(job::PartitionObjective objective) {
  switch (objective) {
    case job::PartitionObjective::kEdgeCut: return partition::Objective::kEdgeCut;
    case job::PartitionObjective::kCommunicationVolume: return partition::Objective::kCommunicationVolume;
  }
  return partition::Objective::kEdgeCut;
}

partition::BalanceConstraint ToConstraint(job::PartitionBalance balance) {
  switch (balance) {
    case job::PartitionBalance::kNodeTypes: return partition::BalanceConstraint::kNodeTypes;
    case job::PartitionBalance::kTrainNodes: return partition::BalanceConstraint::kTrainNodes;
    case job::PartitionBalance::kEdges: return partition::BalanceConstraint::kEdges;
  }
  return partition::BalanceConstraint::kNodeTypes;
}

}  // namespace

format::SourceFormat ToSourceFormat(job::GraphFormat format) {
  switch (format) {
    case job::GraphFormat::kOgb: return format::SourceFormat::kOgb;
    case job::GraphFormat::kNpy: return format::SourceFormat::kNpy;
    case job::GraphFormat::kTriples: return format::SourceFormat::kTriples;
    case job::GraphFormat::kDglChunked: return format::SourceFormat::kDglChunked;
  }
  return format::SourceFormat::kOgb;
}

std::optional<DType> ToDType(job::FeatureDType dtype) {
  switch (dtype) {
    case job::FeatureDType::kF32: return DType::kF32;
    case job::FeatureDType::kF16: return DType::kF16;
    case job::FeatureDType::kBf16: return DType::kBF16;
    case job::FeatureDType::kI8: return DType::kI8;
    case job::FeatureDType::kSource: break;
  }
  return std::nullopt;
}

graph::PreprocessOptions ToPreprocessOptions(const job::Preprocess& preprocess, const PartitionContext& context) {
  graph::PreprocessOptions options;
  options.add_reverse_edges = preprocess.add_reverse_edges;
  options.drop_self_loops = preprocess.drop_self_loops;
  options.drop_duplicate_edges = preprocess.drop_duplicate_edges;
  options.features = {.normalizes_rows = preprocess.normalize_features == job::RowNormalization::kRow,
                      .dtype = ToDType(preprocess.feature_dtype)};
  std::set<std::string> others(context.label_columns.begin(), context.label_columns.end());
  others.erase(options.label_columns.front());
  options.label_columns.insert(options.label_columns.end(), others.begin(), others.end());
  options.held_out = context.held_out;
  return options;
}

std::optional<graph::HeldOutEdges> ToHeldOutEdges(const job::Task& task) {
  switch (task.type) {
    case job::TaskType::kNodeClassification:
    case job::TaskType::kNodeRegression:
    case job::TaskType::kEdgeClassification:
    case job::TaskType::kEdgeRegression: return std::nullopt;
    case job::TaskType::kLinkPrediction: {
      const std::vector<std::string> names = job::EdgeTypeNames(task);
      if (names.size() > 1) return graph::HeldOutEdges{task.split, "", task.reverse_edge_type, names};
      return graph::HeldOutEdges{task.split, names.empty() ? "" : names.front(), task.reverse_edge_type};
    }
  }
  return std::nullopt;
}

partition::PartitionOptions ToPartitionOptions(const job::Partitions& partitions, const PartitionContext& context) {
  partition::PartitionOptions options;
  options.num_partitions = partitions.count;
  options.objective = ToObjective(partitions.objective);
  for (const job::PartitionBalance balance : partitions.balance) options.balance.push_back(ToConstraint(balance));
  std::sort(options.balance.begin(), options.balance.end());
  options.balance.erase(std::unique(options.balance.begin(), options.balance.end()), options.balance.end());
  if (std::count(options.balance.begin(), options.balance.end(), partition::BalanceConstraint::kTrainNodes) > 0) {
    options.train_split = context.train_split;
  }
  options.seed = context.seed;
  options.threads = context.threads;
  return options;
}

std::unique_ptr<partition::Partitioner> MakePartitioner(job::PartitionAlgorithm algorithm,
                                                        std::vector<Tensor> assignment) {
  switch (algorithm) {
    case job::PartitionAlgorithm::kMetis: return partition::MakeMetisPartitioner();
    case job::PartitionAlgorithm::kMultilevel: return partition::MakeMultilevelPartitioner();
    case job::PartitionAlgorithm::kRandom: return partition::MakeRandomPartitioner();
    case job::PartitionAlgorithm::kStreaming: return partition::MakeStreamingPartitioner();
    case job::PartitionAlgorithm::kExternal: return partition::MakeExternalPartitioner(std::move(assignment));
  }
  return nullptr;
}

}  // namespace espalier::partitioner
