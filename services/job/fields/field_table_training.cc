// The fields of spec.training: task, model, sampling, optimization and evaluation. The options of draws come from
// sampler::VisitOptions, so that a new option of the sampler appears in the document without a change here. The fields
// of embeddings (EmbeddingFields) are inserted after spec.training.inputs[].features.
#include <algorithm>

#include "services/base/check.h"
#include "services/job/fields/field_table.h"
#include "services/sampler/spec/draw_spec.h"

namespace espalier::job {
namespace {

using enum FieldType;
using enum Availability;

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

std::vector<FieldSpec> TaskAndModelFields() {
  return {
      {.path = "spec.training",
       .meaning = "training task, model and hyperparameters; optional only with `spec.trainers.program`"},
      {.path = "spec.training.task", .required = true, .meaning = "prediction task"},
      {.path = "spec.training.task.type",
       .type = kEnum,
       .required = true,
       .values = {"NodeClassification", "NodeRegression", "EdgeClassification", "EdgeRegression", "LinkPrediction"},
       .meaning = "type of the task"},
      {.path = "spec.training.task.nodeType",
       .type = kName,
       .meaning = "node type with the labels; optional for a graph with one node type"},
      {.path = "spec.training.task.label",
       .type = kName,
       .default_json = "\"node-label\"",
       .meaning =
           "node column with the labels; EdgeClassification, EdgeRegression: edge column with the labels (required)"},
      {.path = "spec.training.task.split",
       .type = kName,
       .required = true,
       .meaning = "split with the training, validation and test nodes or edges"},
      {.path = "spec.training.task.multiLabel",
       .type = kBool,
       .default_json = "false",
       .meaning =
           "NodeClassification, EdgeClassification: multi-label targets of 0 and 1; -1 and NaN are unknown entries"},
      {.path = "spec.training.task.exclude",
       .type = kEnum,
       .values = {"None", "Self", "ReverseEdges"},
       .meaning = "EdgeClassification, EdgeRegression: edges excluded from neighbor sampling of a mini-batch: none, "
                  "its seed edges, or its seed edges and their reverse edges; by default None"},
      {.path = "spec.training.task.edgeType",
       .type = kEdgeType,
       .meaning = "edge tasks: edge type to predict; by default the only edge type, for LinkPrediction every edge "
                  "type, each with its own relation parameters"},
      {.path = "spec.training.task.edgeTypes",
       .type = kEdgeType,
       .is_list = true,
       .minimum_items = 1,
       .maximum_items = 256,
       .meaning = "LinkPrediction: edge types to predict, instead of `edgeType`"},
      {.path = "spec.training.task.reverseEdgeType",
       .type = kEdgeType,
       .meaning = "edge tasks: edge type with the reverse edges of `edgeType`, which are excluded together with them; "
                  "may be `edgeType` itself; by default the one that `addReverseEdges` adds"},
      {.path = "spec.training.task.negatives", .meaning = "LinkPrediction: negative sampling"},
      {.path = "spec.training.task.negatives.type",
       .type = kEnum,
       .values = {"Uniform", "Joint", "InBatch", "InDegree", "GlobalUniform"},
       .meaning = "negative sampler; by default Uniform"},
      {.path = "spec.training.task.negatives.count",
       .type = kInteger,
       .minimum_integer = 1,
       .maximum_integer = 65536,
       .meaning = "number of negatives per positive edge; by default 1"},
      {.path = "spec.training.task.scorer",
       .type = kEnum,
       .values = {"Dot", "DistMult", "ComplEx", "TransE", "RotatE"},
       .meaning = "LinkPrediction: score function of two node embeddings; by default Dot"},
      {.path = "spec.training.task.loss",
       .type = kEnum,
       .values = {"BinaryCrossEntropy", "CrossEntropy"},
       .meaning =
           "LinkPrediction: loss, per score or of a positive against its negatives; by default BinaryCrossEntropy"},
      {.path = "spec.training.inputs",
       .is_list = true,
       .minimum_items = 1,
       .maximum_items = 256,
       .required = true,
       .meaning = "model inputs, one entry per node type"},
      {.path = "spec.training.inputs[].nodeType",
       .type = kName,
       .meaning = "node type; optional for a graph with one node type"},
      {.path = "spec.training.inputs[].features",
       .type = kName,
       .is_list = true,
       .minimum_items = 1,
       .maximum_items = 64,
       .meaning = "feature columns, concatenated in this order; optional with `embedding`"},
      {.path = "spec.training.model",
       .required = true,
       .meaning = "model; it has as many layers as `sampling.layers` has entries"},
      {.path = "spec.training.model.type",
       .type = kEnum,
       .required = true,
       .values = {"GraphSAGE", "RGCN", "GCN", "GAT", "GATv2", "Embedding", "TorchScript"},
       .meaning = "architecture; Embedding does no message passing: the output of a node is its input"},
      {.path = "spec.training.model.aggregator",
       .type = kEnum,
       .default_json = "\"Mean\"",
       .values = {"Mean", "GCN", "Pool"},
       .meaning = "GraphSAGE: aggregator of neighbor features"},
      {.path = "spec.training.model.hiddenSize",
       .type = kInteger,
       .default_json = "64",
       .minimum_integer = 1,
       .maximum_integer = 65536,
       .meaning = "width of the hidden layers; GAT, GATv2: of all heads together, `hiddenSize / heads` per head (DGL's "
                  "`num_hidden` is the width of one head)"},
      {.path = "spec.training.model.dropout",
       .type = kNumber,
       .default_json = "0.5",
       .minimum = 0,
       .maximum = 1,
       .below_maximum = true,
       .meaning = "dropout probability of layer inputs during training"},
      {.path = "spec.training.model.normalization",
       .type = kEnum,
       .default_json = "\"None\"",
       .values = {"None", "Layer", "Batch"},
       .meaning = "normalization between layers; Batch computes its statistics over the nodes of all trainers"},
      {.path = "spec.training.model.numBases",
       .type = kInteger,
       .default_json = "0",
       .minimum_integer = 0,
       .maximum_integer = 1000,
       .meaning = "RGCN: number of basis matrices; 0: one weight matrix per relation"},
      {.path = "spec.training.model.heads",
       .type = kInteger,
       .default_json = "1",
       .minimum_integer = 1,
       .maximum_integer = 256,
       .meaning =
           "GAT, GATv2: number of attention heads of hidden layers, which are concatenated; must divide `hiddenSize`"},
      {.path = "spec.training.model.outputHeads",
       .type = kInteger,
       .default_json = "1",
       .minimum_integer = 1,
       .maximum_integer = 256,
       .meaning = "GAT, GATv2: number of attention heads of the output layer, which are averaged"},
      {.path = "spec.training.model.negativeSlope",
       .type = kNumber,
       .default_json = "0.2",
       .minimum = 0,
       .maximum = 1,
       .meaning = "GAT, GATv2: negative slope of the LeakyReLU of attention scores"},
      {.path = "spec.training.model.attentionDropout",
       .type = kNumber,
       .default_json = "0",
       .minimum = 0,
       .maximum = 1,
       .below_maximum = true,
       .meaning = "GAT, GATv2: dropout probability of attention weights during training"},
      {.path = "spec.training.model.uri",
       .type = kUri,
       .meaning = "model file with initial parameters; with `epochs: 0` the model is evaluated and applied without "
                  "training; TorchScript: the module (required)"},
  };
}

FieldSpec FieldFor(bool unset) { return {.type = kBool, .default_json = unset ? "true" : "false"}; }

FieldSpec FieldFor(const std::string& unset) {
  ESPALIER_CHECK(unset.empty()) << "a column that is chosen by default";
  return {.type = kName};
}

template <sampler::Spelled E>
FieldSpec FieldFor(E unset) {
  FieldSpec field{.type = kEnum, .default_json = std::string("\"") + ToString(unset) + "\""};
  for (const auto& [value, name] : sampler::Spelling<E>::kNames) field.values.emplace_back(name);
  return field;
}

void AppendDrawFields(std::vector<FieldSpec>* table) {
  const sampler::DrawSpec unset;
  sampler::VisitOptions(unset, [&](const sampler::OptionText& text, const auto& option) {
    FieldSpec& field = table->emplace_back(FieldFor(option));
    field.path = std::string("spec.training.sampling.") + text.name;
    field.meaning = text.meaning;
  });
}

std::vector<FieldSpec> SamplingFields() {
  std::vector<FieldSpec> table = {
      {.path = "spec.training.sampling", .required = true, .meaning = "neighbor sampling"},
      {.path = "spec.training.sampling.layers",
       .is_list = true,
       .maximum_items = 16,
       .required = true,
       .meaning = "fan-outs, one entry per model layer; the first entry is the first layer of the model, farthest from "
                  "the seed nodes; empty for Embedding"},
      {.path = "spec.training.sampling.layers[].fanout",
       .type = kInteger,
       .minimum_integer = -1,
       .maximum_integer = 100000,
       .meaning = "fan-out: number of in-edges to sample per node and edge type; -1: all; 0: none"},
      {.path = "spec.training.sampling.layers[].edgeTypes",
       .is_list = true,
       .maximum_items = 1000,
       .list_key = "type",
       .meaning = "fan-outs per edge type; without `fanout`, other edge types are not sampled"},
      {.path = "spec.training.sampling.layers[].edgeTypes[].type",
       .type = kEdgeType,
       .required = true,
       .meaning = "edge type, as `source:relation:destination` or as a unique relation"},
      {.path = "spec.training.sampling.layers[].edgeTypes[].fanout",
       .type = kInteger,
       .required = true,
       .minimum_integer = -1,
       .maximum_integer = 100000,
       .meaning = "fan-out of this edge type"},
  };
  AppendDrawFields(&table);
  table.push_back({.path = "spec.training.sampling.seedTime",
                   .type = kName,
                   .meaning = "node column with the integer timestamps of seed nodes; in-edges that are later by "
                              "`graph.timeColumn` are not sampled; by default in-edges of every time are sampled"});
  return table;
}

std::vector<FieldSpec> OptimizationFields() {
  return {
      {.path = "spec.training.batchSize",
       .type = kInteger,
       .default_json = "1024",
       .minimum_integer = 1,
       .maximum_integer = 1 << 24,
       .meaning = "global mini-batch size: number of seeds per step over all trainers"},
      {.path = "spec.training.epochs",
       .type = kInteger,
       .default_json = "10",
       .minimum_integer = 0,
       .maximum_integer = 1'000'000,
       .meaning = "number of epochs; 0 (only with `model.uri`): evaluate and write outputs without training"},
      {.path = "spec.training.seed",
       .type = kInteger,
       .default_json = "0",
       .minimum_integer = 0,
       .maximum_integer = kMaxInt64,
       .meaning = "random seed of partitioning, mini-batches, sampling, initial values and dropout"},
      {.path = "spec.training.optimizer", .meaning = "optimizer of the model parameters"},
      {.path = "spec.training.optimizer.type",
       .type = kEnum,
       .default_json = "\"Adam\"",
       .values = {"Adam", "AdamW", "SGD"},
       .meaning = "optimization algorithm"},
      {.path = "spec.training.optimizer.learningRate",
       .type = kNumber,
       .default_json = "0.01",
       .minimum = 0,
       .maximum = 1000,
       .above_minimum = true,
       .meaning = "learning rate"},
      {.path = "spec.training.optimizer.weightDecay",
       .type = kNumber,
       .default_json = "0",
       .minimum = 0,
       .maximum = 1000,
       .meaning = "weight decay: an L2 penalty, decoupled for AdamW"},
      {.path = "spec.training.optimizer.momentum",
       .type = kNumber,
       .default_json = "0",
       .minimum = 0,
       .maximum = 1,
       .below_maximum = true,
       .meaning = "SGD: momentum"},
      {.path = "spec.training.learningRateSchedule", .meaning = "learning-rate schedule"},
      {.path = "spec.training.learningRateSchedule.type",
       .type = kEnum,
       .default_json = "\"Constant\"",
       .values = {"Constant", "Linear", "Cosine", "Step"},
       .meaning = "schedule after the warm-up; Linear and Cosine decay to 0 at the last step"},
      {.path = "spec.training.learningRateSchedule.warmupSteps",
       .type = kInteger,
       .default_json = "0",
       .minimum_integer = 0,
       .maximum_integer = 1'000'000'000,
       .meaning = "number of warm-up steps, over which the rate grows linearly"},
      {.path = "spec.training.learningRateSchedule.stepEpochs",
       .type = kInteger,
       .default_json = "10",
       .minimum_integer = 1,
       .maximum_integer = 1'000'000,
       .meaning = "Step: number of epochs between multiplications by `factor`"},
      {.path = "spec.training.learningRateSchedule.factor",
       .type = kNumber,
       .default_json = "0.1",
       .minimum = 0,
       .maximum = 1,
       .above_minimum = true,
       .meaning = "Step: factor of the rate"},
      {.path = "spec.training.evaluation", .meaning = "evaluation of the model"},
      {.path = "spec.training.evaluation.everyEpochs",
       .type = kInteger,
       .default_json = "1",
       .minimum_integer = 1,
       .maximum_integer = 1'000'000,
       .meaning = "number of epochs between evaluations"},
      {.path = "spec.training.evaluation.metric",
       .type = kEnum,
       .values = {"Accuracy", "MacroF1", "MicroF1", "ROCAUC", "MeanSquaredError", "MeanAbsoluteError", "MRR",
                  "HitsAtK"},
       .meaning = "metric that is reported and selects the best epoch; by default Accuracy, MicroF1 (multiLabel), "
                  "MeanSquaredError (regression) or MRR (LinkPrediction)"},
      {.path = "spec.training.evaluation.candidates",
       .type = kInteger,
       .minimum_integer = 0,
       .maximum_integer = 1'000'000,
       .meaning = "LinkPrediction: number of candidate nodes that a destination is ranked against, drawn once per run; "
                  "by default 0, every node"},
      {.path = "spec.training.evaluation.filtered",
       .type = kBool,
       .meaning = "LinkPrediction: exclude candidates that are destinations of the same source in another edge of the "
                  "split (filtered ranking); by default true"},
      {.path = "spec.training.evaluation.k",
       .type = kInteger,
       .minimum_integer = 1,
       .maximum_integer = 1'000'000,
       .meaning = "HitsAtK: highest rank that counts as a hit; by default 10"},
      {.path = "spec.training.evaluation.neighborhood",
       .type = kEnum,
       .default_json = "\"Full\"",
       .values = {"Full", "Sampled"},
       .meaning = "neighborhoods of the evaluation; Full: layer-wise inference over the whole graph; Sampled: with the "
                  "fan-outs of training"},
      {.path = "spec.training.evaluation.earlyStopping",
       .meaning = "stop training when the validation metric does not improve; by default it runs all epochs"},
      {.path = "spec.training.evaluation.earlyStopping.patience",
       .type = kInteger,
       .required = true,
       .minimum_integer = 1,
       .maximum_integer = 1'000'000,
       .meaning = "number of evaluations without improvement before training stops"},
  };
}

}  // namespace

std::vector<FieldSpec> TrainingFields() {
  std::vector<FieldSpec> table;
  for (const std::vector<FieldSpec>& part : {TaskAndModelFields(), SamplingFields(), OptimizationFields()}) {
    table.insert(table.end(), part.begin(), part.end());
  }
  const auto features = std::find_if(table.begin(), table.end(), [](const FieldSpec& field) {
    return field.path == "spec.training.inputs[].features";
  });
  const std::vector<FieldSpec> embedding = EmbeddingFields();
  table.insert(features + 1, embedding.begin(), embedding.end());
  return table;
}

}  // namespace espalier::job
