// The texts of a run's outputs: result.json, the lines of metrics.jsonl and the metadata of model files. The keys of
// result.json and metrics.jsonl are written in the order in which they are listed here (ordered_json). The key of a
// metric is composed of the part of the split and the metric, for example "testAccuracy". Keys that do not apply to the
// run, such as featureCache without a cache, are absent. Metrics that are undefined or were not measured are null.
#include <cctype>
#include <nlohmann/json.hpp>

#include "services/job/enum_names.h"
#include "services/trainer/evaluation/metrics.h"
#include "services/trainer/outputs.h"
#include "services/trainer/train_job.h"

namespace espalier::trainer {
namespace {

using nlohmann::ordered_json;

ordered_json ToNumberOrNull(const std::optional<double>& value) {
  return value.has_value() ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json SecondsJson(const SecondsSplit& seconds) {
  return {{"sample", seconds.sample},
          {"fetch", seconds.fetch},
          {"wait", seconds.wait},
          {"compute", seconds.compute},
          {"communicate", seconds.communicate},
          {"evaluate", seconds.evaluate}};
}

ordered_json FeatureCacheJson(const sampler::RowCacheCounts& counts, const sampler::SlotCounts& device) {
  return {{"hitRows", counts.hit_rows},         {"sharedRows", counts.shared_rows},
          {"fetchedRows", counts.fetched_rows}, {"deviceRows", device.hit_rows},
          {"copiedRows", device.missed_rows},   {"savedBytes", counts.hit_bytes},
          {"sharedBytes", counts.shared_bytes}, {"fetchedBytes", counts.fetched_bytes},
          {"deviceBytes", device.hit_bytes}};
}

const char* ToString(LoopEnd end) {
  switch (end) {
    case LoopEnd::kAllEpochs: return "AllEpochs";
    case LoopEnd::kEarlyStopping: return "EarlyStopping";
    case LoopEnd::kStopRequested: return "StopRequested";
  }
  return "";
}

// The ToText functions return values as they are written in model files.
const char* ToText(job::Aggregator aggregator) {
  switch (aggregator) {
    case job::Aggregator::kMean: return "Mean";
    case job::Aggregator::kGcn: return "Gcn";
    case job::Aggregator::kPool: return "Pool";
  }
  return "";
}

const char* ToText(job::LayerNormalization normalization) {
  switch (normalization) {
    case job::LayerNormalization::kNone: return "None";
    case job::LayerNormalization::kLayer: return "Layer";
    case job::LayerNormalization::kBatch: return "Batch";
  }
  return "";
}

// Returns the shortest text that parses to the same number.
std::string ToShortestText(double value) { return ordered_json(value).dump(); }

}  // namespace

std::string ResultKey(const std::string& part, job::Metric metric) {
  std::string name = trainer::ToString(metric);
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return part + name;
}

std::map<std::string, std::string> ModelMetadata(const RunFacts& facts) {
  const job::Model& model = facts.job.training.model;
  std::string features;
  for (const job::Input& input : facts.job.training.inputs) {
    for (const std::string& name : input.features) {
      features += (features.empty() ? "" : ",") + (input.node_type.empty() ? "" : input.node_type + ":") + name;
    }
    if (input.embedding.has_value()) {
      features += (features.empty() ? "" : ",") + (input.node_type.empty() ? "" : input.node_type + ":") +
                  "embedding[" + std::to_string(input.embedding->size) + "]";
    }
  }
  std::map<std::string, std::string> metadata = {{"format", "espalier-model-1"},
                                                 {"model", job::ToString(model.type)},
                                                 {"aggregator", ToText(model.aggregator)},
                                                 {"hiddenSize", std::to_string(model.hidden_size)},
                                                 {"layers", std::to_string(facts.job.training.sampling.layers.size())},
                                                 {"normalization", ToText(model.normalization)},
                                                 {"numBases", std::to_string(model.num_bases)},
                                                 {"outputs", std::to_string(facts.num_outputs)},
                                                 {"features", features},
                                                 {"seed", std::to_string(facts.job.training.seed)}};
  if (job::IsAttention(model.type)) {
    metadata["heads"] = std::to_string(model.heads);
    metadata["outputHeads"] = std::to_string(model.output_heads);
    metadata["negativeSlope"] = ToShortestText(model.negative_slope);
  }
  if (model.type == job::ModelType::kTorchScript) {
    for (const char* unused : {"aggregator", "hiddenSize", "normalization", "numBases"}) metadata.erase(unused);
    metadata["moduleSha256"] = facts.module_sha256;
  }
  metadata.insert(facts.task.model_metadata.begin(), facts.task.model_metadata.end());
  return metadata;
}

std::map<std::string, std::string> NodeResultAttributes(const RunFacts& facts) {
  std::map<std::string, std::string> attributes = ModelMetadata(facts);
  attributes.erase("format");
  attributes.erase("scorerRelations");  // describes only the model's parameters
  attributes["job"] = facts.job.name;
  attributes["graph"] = facts.graph_name.empty() ? facts.job.graph.source.uri : facts.graph_name;
  return attributes;
}

std::string EpochJson(const EpochReport& report, job::Metric metric) {
  ordered_json line = {{"epoch", report.epoch},
                       {"loss", report.loss},
                       {ResultKey("validation", metric), ToNumberOrNull(report.validation)},
                       {"learningRate", report.learning_rate},
                       {"seeds", report.num_seeds},
                       {"seconds", report.total_seconds},
                       {"secondsSplit", SecondsJson(report.seconds)}};
  return line.dump();
}

std::string ResultJson(const RunFacts& facts, const TrainOutcome& outcome,
                       const std::map<std::string, std::string>& not_written) {
  const job::Metric metric = facts.job.training.evaluation.metric;
  ordered_json losses = ordered_json::array(), seconds = ordered_json::array(), history = ordered_json::array();
  for (const EpochReport& epoch : outcome.loop.epochs) {
    losses.push_back(epoch.loss);
    seconds.push_back(epoch.total_seconds);
    history.push_back(ToNumberOrNull(epoch.validation));
  }
  ordered_json result = {{"name", facts.job.name},
                         {ResultKey("test", metric), ToNumberOrNull(outcome.test)},
                         {ResultKey("validation", metric), ToNumberOrNull(outcome.validation)},
                         {"bestEpoch", outcome.loop.best_epoch},
                         {"modelEpoch", outcome.loop.model_epoch},
                         {"epochs", outcome.loop.epochs.size()},
                         {"end", ToString(outcome.loop.end)},
                         {"lossPerEpoch", losses},
                         {"lossPerStep", outcome.loop.first_epoch_losses},
                         {ResultKey("validation", metric) + "PerEpoch", history},
                         {"secondsPerEpoch", seconds},
                         {"seconds", outcome.total_seconds},
                         {"parametersDigest", outcome.parameters_digest},
                         {"graph", facts.graph_name.empty() ? facts.job.graph.source.uri : facts.graph_name},
                         {"nodes", facts.num_nodes},
                         {"edges", facts.num_edges},
                         {"partitions", facts.num_partitions},
                         {"samplers", facts.job.sampler_replicas},
                         {"trainers", facts.num_trainers},
                         {"threads", facts.math.threads},
                         {"seed", facts.job.training.seed},
                         {"batchSize", facts.job.training.batch_size},
                         {"stepsPerEpoch", facts.steps_per_epoch},
                         {"outputs", facts.num_outputs},
                         {"blas", facts.math.blas},
                         {"blasKernel", facts.math.blas_kernel},
                         {"torch", facts.math.torch_version},
                         {"cpuCapability", facts.math.cpu_capability},
                         {"device", facts.math.device},
                         {"precision", job::ToString(facts.job.training.precision)},
                         {"collective", facts.collective},
                         {"incarnation", facts.incarnation}};
  if (facts.task.num_edge_outputs > 0) result["edgeOutputs"] = facts.task.num_edge_outputs;
  if (!facts.job.training.model.uri.empty()) result["startedFrom"] = facts.job.training.model.uri;
  if (!outcome.rows_digest.empty()) result["learnableRowsDigest"] = outcome.rows_digest;
  if (!facts.module_sha256.empty()) result["moduleSha256"] = facts.module_sha256;
  if (outcome.feature_cache.has_value())
    result["featureCache"] = FeatureCacheJson(*outcome.feature_cache, outcome.device_rows);
  if (!outcome.resumed_from.empty()) result["resumedFrom"] = outcome.resumed_from;
  if (!not_written.empty()) result["notWritten"] = not_written;
  if (!outcome.warnings.empty()) result["warnings"] = outcome.warnings;
  return result.dump(2) + "\n";
}

}  // namespace espalier::trainer
