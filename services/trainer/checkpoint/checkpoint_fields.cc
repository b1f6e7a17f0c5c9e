// Each setting is converted to text by an overload of ToText. A field must have the same text in all versions of
// Espalier, because it is compared to the text in older checkpoints: new settings add a field only if they differ from
// their default, and existing texts must not change. So edge types, except in kCanonicalEdgeTypes, are still written as
// the document spells them, and CheckFits applies ToCanonicalText to the texts of the checkpoint and of the job before
// it compares them.
#include "services/trainer/checkpoint/checkpoint_fields.h"

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "absl/strings/str_join.h"
#include "services/job/enum_names.h"
#include "services/job/sampling/link_plan.h"

namespace espalier::trainer {
namespace {

// The fields with names of edge types.
constexpr char kEdgeTypeField[] = "training.task.edgeType";
constexpr char kReverseEdgeTypeField[] = "training.task.reverseEdgeType";
constexpr char kLayersField[] = "training.sampling.layers";

std::string ToText(const std::string& value) { return value; }
std::string ToText(const char* value) { return value; }
std::string ToText(bool value) { return value ? "true" : "false"; }
template <class T>
requires std::is_integral_v<T> std::string ToText(T value) { return std::to_string(value); }
// Returns the shortest text that parses to the same number.
std::string ToText(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  return error == std::errc() ? std::string(text, end) : std::to_string(value);
}

std::string ToText(const std::vector<std::string>& names) { return absl::StrJoin(names, ","); }

// Returns `name`, or, if it is "" and the graph has one node type, the name of that type. So the field does not depend
// on whether the document names the type.
std::string NodeTypeText(const std::string& name, const graph::GraphSchema& schema) {
  return name.empty() && schema.num_node_types() == 1 ? schema.NodeTypeName(NodeTypeId(0)) : name;
}

std::string ToText(const std::vector<job::Input>& inputs, const graph::GraphSchema& schema) {
  std::string text;
  for (const job::Input& input : inputs) {
    for (const std::string& feature : input.features) {
      text += (text.empty() ? "" : ",") + NodeTypeText(input.node_type, schema) + "/" + feature;
    }
  }
  return text;
}

std::string ToText(const std::vector<job::SamplingLayer>& layers) {
  std::string text;
  for (const job::SamplingLayer& layer : layers) {
    text += (text.empty() ? "" : ",") + (layer.fanout.has_value() ? std::to_string(*layer.fanout) : "none");
    for (const job::EdgeTypeFanout& relation : layer.edge_types) {
      text += ";" + relation.type + "=" + std::to_string(relation.fanout);
    }
  }
  return text;
}

// Adds the fields of models with attention, or the field of user modules. Other models have none of these.
void AddModelFields(const job::Model& model, const std::string& module_digest,
                    std::map<std::string, std::string>* fields) {
  if (job::IsAttention(model.type)) {
    (*fields)["training.model.heads"] = ToText(model.heads);
    (*fields)["training.model.outputHeads"] = ToText(model.output_heads);
    (*fields)["training.model.negativeSlope"] = ToText(model.negative_slope);
    (*fields)["training.model.attentionDropout"] = ToText(model.attention_dropout);
  }
  if (model.type == job::ModelType::kTorchScript) (*fields)["training.model.moduleSha256"] = module_digest;
}

std::string ToText(const job::Embedding& embedding) {
  const job::RowInitializer& initializer = embedding.initializer;
  const job::SparseOptimizer& optimizer = embedding.optimizer;
  const job::LearningRateSchedule& schedule = embedding.schedule;
  std::string text = ToText(embedding.size) + " " + ToString(embedding.dtype) + "; " + ToString(initializer.type);
  for (const double number : {initializer.low, initializer.high, initializer.mean, initializer.deviation}) {
    text += " " + ToText(number);
  }
  // Appended only if there is a plugin, so that older checkpoints of jobs without one still match.
  if (!initializer.plugin.empty()) text += " " + initializer.plugin + " of '" + initializer.arguments + "'";
  text += "; " + ToText(ToString(optimizer.type)) + " " + ToText(optimizer.learning_rate) + " decay " +
          ToText(optimizer.weight_decay) + " " + ToString(optimizer.duplicates) + " from " +
          ToText(optimizer.initial_accumulator);
  text += "; " + ToText(ToString(schedule.type)) + " warmup " + ToText(schedule.warmup_steps) + " step " +
          ToText(schedule.step_epochs) + " factor " + ToText(schedule.factor);
  return text;
}

std::map<std::string, std::string> OptionTexts(const sampler::DrawSpec& draw) {
  std::map<std::string, std::string> texts;
  sampler::VisitOptions(draw, [&](const sampler::OptionText& text, const auto& option) {
    if constexpr (std::is_enum_v<std::decay_t<decltype(option)>>) {
      texts[text.name] = ToText(ToString(option));
    } else {
      texts[text.name] = ToText(option);
    }
  });
  return texts;
}

// Adds the options that differ from their defaults, so that checkpoints written before an option existed still match.
// Always adds replace and weight, the oldest options, and, if the method is not Neighbor, layerDependency.
void AddDrawFields(const sampler::DrawSpec& draw, std::map<std::string, std::string>* fields) {
  const std::map<std::string, std::string> unset = OptionTexts({});
  for (const auto& [name, text] : OptionTexts(draw)) {
    const bool always = name == "replace" || name == "weight" ||
                        (name == "layerDependency" && draw.method != sampler::DrawMethod::kNeighbor);
    if (always || text != unset.at(name)) (*fields)["training.sampling." + name] = text;
  }
}

std::string ToCanonicalName(const std::string& name, const EdgeTypeSpellings& names) {
  const auto found = names.find(name);
  return name.empty() || found == names.end() ? name : found->second;
}

// Converts "cites,a:writes:p". The order is not significant (FindEdgeTypes sorts).
std::string ToCanonicalList(const std::string& list, const EdgeTypeSpellings& names) {
  if (const auto all = names.find(""); list.empty() && all != names.end()) return all->second;
  std::vector<std::string> canonical;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    canonical.push_back(ToCanonicalName(list.substr(begin, end - begin), names));
    begin = end + 1;
  }
  std::sort(canonical.begin(), canonical.end());
  return ToText(canonical);
}

// Converts "10;cites=5,none;a:writes:p=3": names are between ';' and '='.
std::string ToCanonicalLayers(const std::string& layers, const EdgeTypeSpellings& names) {
  std::string canonical;
  size_t at = 0;
  while (true) {
    const size_t semicolon = layers.find(';', at);
    if (semicolon == std::string::npos) return canonical + layers.substr(at);
    const size_t end = std::min(layers.find('=', semicolon), layers.size());
    canonical += layers.substr(at, semicolon + 1 - at) +
                 ToCanonicalName(layers.substr(semicolon + 1, end - semicolon - 1), names);
    at = end;
  }
}

}  // namespace

std::map<std::string, std::string> ListEdgeTaskFields(const job::Task& task, int64_t num_edge_outputs) {
  return {{"graph.numEdgeOutputs", ToText(num_edge_outputs)},
          {kEdgeTypeField, ToText(task.edge_type)},
          {kReverseEdgeTypeField, ToText(task.reverse_edge_type)},
          {"training.task.exclude", ToText(ToString(task.exclude))}};
}

std::map<std::string, std::string> ListLinkTaskFields(const job::Training& training, const graph::GraphSchema& schema) {
  const job::Task& task = training.task;
  std::map<std::string, std::string> fields = {
      {kEdgeTypeField, ToText(job::EdgeTypeNames(task))},
      {kReverseEdgeTypeField, ToText(task.reverse_edge_type)},
      {"training.task.negatives.type", ToText(ToString(task.negatives))},
      {"training.task.negatives.count", ToText(task.num_negatives)},
      {"training.task.scorer", ToText(ToString(task.scorer))},
      {"training.task.loss", ToText(ToString(task.loss))},
      {"training.evaluation.candidates", ToText(training.evaluation.candidates)},
      {"training.evaluation.filtered", ToText(training.evaluation.filtered)},
      {"training.evaluation.k", ToText(training.evaluation.k)},
  };
  // Cannot fail: LinkTask::MakeData has found these edge types before.
  const Result<std::vector<std::string>> edge_types = job::CanonicalNamesOfEdgeTypes(task, schema);
  if (edge_types.ok()) fields[kCanonicalEdgeTypes] = ToText(*edge_types);
  return fields;
}

EdgeTypeSpellings ListEdgeTypeSpellings(const graph::GraphSchema& schema) {
  EdgeTypeSpellings names;
  std::vector<std::string> all;
  for (const graph::CanonicalEdgeType& type : schema.edge_types()) {
    all.push_back(type.Name());
    names[type.Name()] = type.Name();
    if (schema.FindEdgeType(type.relation).ok()) names[type.relation] = type.Name();
  }
  std::sort(all.begin(), all.end());
  names[""] = ToText(all);
  return names;
}

std::string ToCanonicalText(const std::string& path, const std::string& value, const EdgeTypeSpellings& names) {
  if (path == kEdgeTypeField) return ToCanonicalList(value, names);
  // "" is unchanged: it means the reverse edge type that addReverseEdges has created, or none.
  if (path == kReverseEdgeTypeField) return ToCanonicalName(value, names);
  if (path == kLayersField) return ToCanonicalLayers(value, names);
  return value;
}

std::map<std::string, std::string> ListDecidingFields(const job::DistTraining& job, const GraphFacts& graph) {
  const job::Training& training = job.training;
  const job::Preprocess& preprocess = job.graph.preprocess;
  const graph::GraphSchema& schema = graph.book.schema();
  std::map<std::string, std::string> fields = {
      {"graph.timeColumn", ToText(job.graph.time_column)},
      {"graph.preprocess.addReverseEdges", ToText(preprocess.add_reverse_edges)},
      {"graph.preprocess.dropSelfLoops", ToText(preprocess.drop_self_loops)},
      {"graph.preprocess.dropDuplicateEdges", ToText(preprocess.drop_duplicate_edges)},
      {"graph.preprocess.normalizeFeatures", ToText(ToString(preprocess.normalize_features))},
      {"graph.numNodes", ToText(graph.book.num_nodes())},
      {"graph.numEdges", ToText(graph.book.num_edges())},
      {"graph.numOutputs", ToText(graph.num_outputs)},
      {"graph.numStepsPerEpoch", ToText(graph.steps_per_epoch)},
      {"training.task.type", ToText(ToString(training.task.type))},
      {"training.task.nodeType", ToText(schema.NodeTypeName(graph.seed_type))},
      {"training.task.label", ToText(training.task.label)},
      {"training.task.split", ToText(training.task.split)},
      {"training.task.multiLabel", ToText(training.task.multi_label)},
      {"training.inputs", ToText(training.inputs, schema)},
      {"training.model.type", ToText(ToString(training.model.type))},
      {"training.model.aggregator", ToText(ToString(training.model.aggregator))},
      {"training.model.hiddenSize", ToText(training.model.hidden_size)},
      {"training.model.dropout", ToText(training.model.dropout)},
      {"training.model.normalization", ToText(ToString(training.model.normalization))},
      {"training.model.numBases", ToText(training.model.num_bases)},
      {kLayersField, ToText(training.sampling.layers)},
      {"training.batchSize", ToText(training.batch_size)},
      {"training.seed", ToText(training.seed)},
      {"training.optimizer.type", ToText(ToString(training.optimizer.type))},
      {"training.optimizer.learningRate", ToText(training.optimizer.learning_rate)},
      {"training.optimizer.weightDecay", ToText(training.optimizer.weight_decay)},
      {"training.optimizer.momentum", ToText(training.optimizer.momentum)},
      {"training.learningRateSchedule.type", ToText(ToString(training.schedule.type))},
      {"training.learningRateSchedule.warmupSteps", ToText(training.schedule.warmup_steps)},
      {"training.learningRateSchedule.stepEpochs", ToText(training.schedule.step_epochs)},
      {"training.learningRateSchedule.factor", ToText(training.schedule.factor)},
      {"training.evaluation.everyEpochs", ToText(training.evaluation.every_epochs)},
      {"training.evaluation.metric", ToText(job::ToString(training.evaluation.metric))},
      {"training.evaluation.neighborhood", ToText(ToString(training.evaluation.neighborhood))},
      {"training.evaluation.earlyStopping.patience", ToText(training.evaluation.patience)},
      {"training.evaluation.chunkNodes", ToText(graph.inference_chunk_nodes)},
  };
  AddModelFields(training.model, graph.module_digest, &fields);
  // Optional features add fields only if they are used, so that older checkpoints of jobs without them still match.
  AddDrawFields(training.sampling.draw, &fields);
  if (preprocess.feature_dtype != job::FeatureDType::kSource) {
    fields["graph.preprocess.featureDtype"] = ToText(ToString(preprocess.feature_dtype));
  }
  for (const job::Input& input : training.inputs) {
    if (!input.embedding.has_value()) continue;
    fields["training.inputs." + NodeTypeText(input.node_type, schema) + ".embedding"] = ToText(*input.embedding);
  }
  if (!training.sampling.seed_time.empty()) {
    fields["training.sampling.seedTime"] = ToText(training.sampling.seed_time);
  }
  fields.insert(graph.task_fields.begin(), graph.task_fields.end());
  return fields;
}

}  // namespace espalier::trainer
