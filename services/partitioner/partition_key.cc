#include "services/partitioner/partition_key.h"

#include <nlohmann/json.hpp>
#include <set>

#include "services/base/sha256.h"
#include "services/format/partition/manifest.h"
#include "services/job/enum_names.h"

namespace espalier::partitioner {
namespace {

nlohmann::json DescribePreprocessing(const job::Preprocess& preprocess, const PartitionContext& context) {
  nlohmann::json json = {{"addReverseEdges", preprocess.add_reverse_edges},
                         {"dropSelfLoops", preprocess.drop_self_loops},
                         {"dropDuplicateEdges", preprocess.drop_duplicate_edges},
                         {"normalizeFeatures", job::ToString(preprocess.normalize_features)}};
  // Omitted if features keep their dtype, so that keys of earlier versions stay the same.
  if (preprocess.feature_dtype != job::FeatureDType::kSource) {
    json["featureDtype"] = job::ToString(preprocess.feature_dtype);
  }
  if (ToPreprocessOptions(preprocess, context).features.ChangesValues()) {
    json["labels"] = ToPreprocessOptions(preprocess, context).label_columns;
  }
  if (context.held_out.has_value()) {
    // 2 is the version of the rule that selects the edges to hold out.
    json["heldOut"] = {context.held_out->split, context.held_out->edge_type, context.held_out->reverse_edge_type, 2};
    if (!context.held_out->edge_types.empty()) json["heldOutTypes"] = context.held_out->edge_types;
  }
  return json;
}

nlohmann::json DescribeAlgorithm(const job::Partitions& partitions, const PartitionContext& context,
                                 const PartitionKeyInput& input) {
  nlohmann::json json = {{"name", job::ToString(partitions.algorithm)},
                         {"version", input.algorithm_version},
                         {"partitions", partitions.count}};
  if (partitions.algorithm == job::PartitionAlgorithm::kExternal) {
    json["assignment"] = input.assignment_digest;
  } else {
    json["seed"] = context.seed;
  }
  // `balance` is part of the key for every algorithm: if it contains TrainNodes, the quality in the manifest counts the
  // training nodes of `trainSplit` only; otherwise `trainSplit` is empty here, and those of all splits are counted.
  const partition::PartitionOptions options = ToPartitionOptions(partitions, context);
  for (const partition::BalanceConstraint constraint : options.balance) {
    json["balance"].push_back(static_cast<int>(constraint));
  }
  json["trainSplit"] = options.train_split;
  if (partitions.algorithm == job::PartitionAlgorithm::kMetis) {
    json["objective"] = job::ToString(partitions.objective);
  }
  return json;
}

}  // namespace

std::string PartitionKey(const job::Graph& graph, const PartitionContext& context, const PartitionKeyInput& input) {
  // nlohmann::json sorts the keys of objects, so equal values give equal text.
  nlohmann::json json = {{"source", {{"digest", input.source_digest}, {"format", job::ToString(graph.source.format)}}},
                         {"preprocess", DescribePreprocessing(graph.preprocess, context)},
                         {"algorithm", DescribeAlgorithm(graph.partitions, context, input)},
                         {"timeColumn", graph.time_column},
                         {"nonce", input.nonce},
                         {"formatVersion", format::kPartitionFormatVersion}};
  // Omitted if there are no source columns, so that keys of earlier versions, which did not support them, stay the
  // same.
  if (!graph.partitions.source_columns.empty()) {
    json["sourceColumns"] = std::set<std::string>(graph.partitions.source_columns.begin(),  // their order is irrelevant
                                                  graph.partitions.source_columns.end());
  }
  // Invalid UTF-8 in a name is replaced here; reading the column or split of that name returns the error.
  return Sha256Hex(json.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace));
}

}  // namespace espalier::partitioner
