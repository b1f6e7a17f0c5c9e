#include "services/trainer/checkpoint/checkpoint_fields.h"

#include <charconv>

#include "services/job/enum_names.h"
#include "services/job/sampling/link_plan.h"

namespace espalier::trainer {
namespace {

std::string TextOf(const std::string& value) { return value; }
std::string TextOf(const char* value) { return value; }
std::string TextOf(bool value) { return value ? "true" : "false"; }
template <class T>
requires std::is_integral_v<T> std::string TextOf(T value) { return std::to_string(value); }
// The shortest text that reads back as the same number.
std::string TextOf(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  return error == std::errc() ? std::string(text, end) : std::to_string(value);
}

std::string TextOf(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

// "" in the document means the only node type; a document that names it means the same.
std::string NodeTypeText(const std::string& name, const graph::GraphSchema& schema) {
  return name.empty() && schema.num_node_types() == 1 ? schema.NodeTypeName(NodeTypeId(0)) : name;
}

std::string TextOf(const std::vector<job::Input>& inputs, const graph::GraphSchema& schema) {
  std::string text;
  for (const job::Input& input : inputs) {
    for (const std::string& feature : input.features) {
      text += (text.empty() ? "" : ",") + NodeTypeText(input.node_type, schema) + "/" + feature;
    }
  }
  return text;
}

std::string TextOf(const std::vector<job::SamplingLayer>& layers) {
  std::string text;
  for (const job::SamplingLayer& layer : layers) {
    text += (text.empty() ? "" : ",") + (layer.fanout.has_value() ? std::to_string(*layer.fanout) : "none");
    for (const job::EdgeTypeFanout& relation : layer.edge_types) {
      text += ";" + relation.type + "=" + std::to_string(relation.fanout);
    }
  }
  return text;
}

// Of models that have fields of their own.
void AddModelFields(const job::Model& model, const std::string& module_digest,
                    std::map<std::string, std::string>* fields) {
  if (job::IsAttention(model.type)) {
    (*fields)["training.model.heads"] = TextOf(model.heads);
    (*fields)["training.model.outputHeads"] = TextOf(model.output_heads);
    (*fields)["training.model.negativeSlope"] = TextOf(model.negative_slope);
    (*fields)["training.model.attentionDropout"] = TextOf(model.attention_dropout);
  }
  if (model.type == job::ModelType::kTorchScript) (*fields)["training.model.moduleSha256"] = module_digest;
}

std::string TextOf(const job::Embedding& embedding) {
  const job::RowInitializer& initializer = embedding.initializer;
  const job::SparseOptimizer& optimizer = embedding.optimizer;
  const job::LearningRateSchedule& schedule = embedding.schedule;
  std::string text = TextOf(embedding.size) + " " + NameOf(embedding.dtype) + "; " + NameOf(initializer.type);
  for (const double number : {initializer.low, initializer.high, initializer.mean, initializer.deviation}) {
    text += " " + TextOf(number);
  }
  // Only then: checkpoints without one go on as ever.
  if (!initializer.plugin.empty()) text += " " + initializer.plugin + " of '" + initializer.arguments + "'";
  text += "; " + TextOf(NameOf(optimizer.type)) + " " + TextOf(optimizer.learning_rate) + " decay " +
          TextOf(optimizer.weight_decay) + " " + NameOf(optimizer.duplicates) + " from " +
          TextOf(optimizer.initial_accumulator);
  text += "; " + TextOf(NameOf(schedule.type)) + " warmup " + TextOf(schedule.warmup_steps) + " step " +
          TextOf(schedule.step_epochs) + " factor " + TextOf(schedule.factor);
  return text;
}

std::map<std::string, std::string> OptionTexts(const sampler::DrawSpec& draw) {
  std::map<std::string, std::string> texts;
  sampler::VisitOptions(draw, [&](const sampler::OptionText& text, const auto& option) {
    if constexpr (std::is_enum_v<std::decay_t<decltype(option)>>) {
      texts[text.name] = TextOf(NameOf(option));
    } else {
      texts[text.name] = TextOf(option);
    }
  });
  return texts;
}

// Options that are not what they are when unset, so that checkpoints from before an option fit. The oldest are always
// there, and with a method its dependency.
void AddDrawFields(const sampler::DrawSpec& draw, std::map<std::string, std::string>* fields) {
  const std::map<std::string, std::string> unset = OptionTexts({});
  for (const auto& [name, text] : OptionTexts(draw)) {
    const bool always = name == "replace" || name == "weight" ||
                        (name == "layerDependency" && draw.method != sampler::DrawMethod::kNeighbor);
    if (always || text != unset.at(name)) (*fields)["training.sampling." + name] = text;
  }
}

void AddEdgeFields(const job::Task& task, int64_t num_edge_outputs, std::map<std::string, std::string>* fields) {
  (*fields)["graph.numEdgeOutputs"] = TextOf(num_edge_outputs);
  (*fields)["training.task.edgeType"] = TextOf(task.edge_type);
  (*fields)["training.task.reverseEdgeType"] = TextOf(task.reverse_edge_type);
  (*fields)["training.task.exclude"] = TextOf(NameOf(task.exclude));
}

void AddLinkFields(const job::Training& training, const graph::GraphSchema& schema,
                   std::map<std::string, std::string>* fields) {
  const job::Task& task = training.task;
  (*fields)["training.task.edgeType"] = TextOf(job::EdgeTypeNames(task));
  // A run whose document names what the graph lacks has no scorer and ends before.
  const Result<std::vector<std::string>> edge_types = job::CanonicalNamesOfEdgeTypes(task, schema);
  if (edge_types.ok()) (*fields)[kCanonicalEdgeTypes] = TextOf(*edge_types);
  (*fields)["training.task.reverseEdgeType"] = TextOf(task.reverse_edge_type);
  (*fields)["training.task.negatives.type"] = TextOf(NameOf(task.negatives));
  (*fields)["training.task.negatives.count"] = TextOf(task.num_negatives);
  (*fields)["training.task.scorer"] = TextOf(NameOf(task.scorer));
  (*fields)["training.task.loss"] = TextOf(NameOf(task.loss));
  (*fields)["training.evaluation.candidates"] = TextOf(training.evaluation.candidates);
  (*fields)["training.evaluation.filtered"] = TextOf(training.evaluation.filtered);
  (*fields)["training.evaluation.k"] = TextOf(training.evaluation.k);
}

}  // namespace

std::map<std::string, std::string> DecidingFields(const job::DistTraining& job, const GraphFacts& graph) {
  const job::Training& training = job.training;
  const job::Preprocess& preprocess = job.graph.preprocess;
  const graph::GraphSchema& schema = graph.book.schema();
  std::map<std::string, std::string> fields = {
      {"graph.timeColumn", TextOf(job.graph.time_column)},
      {"graph.preprocess.addReverseEdges", TextOf(preprocess.add_reverse_edges)},
      {"graph.preprocess.dropSelfLoops", TextOf(preprocess.drop_self_loops)},
      {"graph.preprocess.dropDuplicateEdges", TextOf(preprocess.drop_duplicate_edges)},
      {"graph.preprocess.normalizeFeatures", TextOf(NameOf(preprocess.normalize_features))},
      {"graph.numNodes", TextOf(graph.book.num_nodes())},
      {"graph.numEdges", TextOf(graph.book.num_edges())},
      {"graph.numOutputs", TextOf(graph.num_outputs)},
      {"graph.numStepsPerEpoch", TextOf(graph.steps_per_epoch)},
      {"training.task.type", TextOf(NameOf(training.task.type))},
      {"training.task.nodeType", TextOf(schema.NodeTypeName(graph.seed_type))},
      {"training.task.label", TextOf(training.task.label)},
      {"training.task.split", TextOf(training.task.split)},
      {"training.task.multiLabel", TextOf(training.task.multi_label)},
      {"training.inputs", TextOf(training.inputs, schema)},
      {"training.model.type", TextOf(NameOf(training.model.type))},
      {"training.model.aggregator", TextOf(NameOf(training.model.aggregator))},
      {"training.model.hiddenSize", TextOf(training.model.hidden_size)},
      {"training.model.dropout", TextOf(training.model.dropout)},
      {"training.model.normalization", TextOf(NameOf(training.model.normalization))},
      {"training.model.numBases", TextOf(training.model.num_bases)},
      {"training.sampling.layers", TextOf(training.sampling.layers)},
      {"training.batchSize", TextOf(training.batch_size)},
      {"training.seed", TextOf(training.seed)},
      {"training.optimizer.type", TextOf(NameOf(training.optimizer.type))},
      {"training.optimizer.learningRate", TextOf(training.optimizer.learning_rate)},
      {"training.optimizer.weightDecay", TextOf(training.optimizer.weight_decay)},
      {"training.optimizer.momentum", TextOf(training.optimizer.momentum)},
      {"training.learningRateSchedule.type", TextOf(NameOf(training.schedule.type))},
      {"training.learningRateSchedule.warmupSteps", TextOf(training.schedule.warmup_steps)},
      {"training.learningRateSchedule.stepEpochs", TextOf(training.schedule.step_epochs)},
      {"training.learningRateSchedule.factor", TextOf(training.schedule.factor)},
      {"training.evaluation.everyEpochs", TextOf(training.evaluation.every_epochs)},
      {"training.evaluation.metric", TextOf(job::NameOf(training.evaluation.metric))},
      {"training.evaluation.neighborhood", TextOf(NameOf(training.evaluation.neighborhood))},
      {"training.evaluation.earlyStopping.patience", TextOf(training.evaluation.patience)},
      {"training.evaluation.chunkNodes", TextOf(graph.inference_chunk_nodes)},
  };
  AddModelFields(training.model, graph.module_digest, &fields);
  // Only where they are not what they are when unset, so that checkpoints of jobs without them fit.
  AddDrawFields(training.sampling.draw, &fields);
  for (const job::Input& input : training.inputs) {
    if (!input.embedding.has_value()) continue;
    fields["training.inputs." + NodeTypeText(input.node_type, schema) + ".embedding"] = TextOf(*input.embedding);
  }
  if (!training.sampling.seed_time.empty()) {
    fields["training.sampling.seedTime"] = TextOf(training.sampling.seed_time);
  }
  if (job::LabelsEdges(training.task.type)) AddEdgeFields(training.task, graph.num_edge_outputs, &fields);
  if (training.task.type == job::TaskType::kLinkPrediction) AddLinkFields(training, schema, &fields);
  return fields;
}

}  // namespace espalier::trainer
