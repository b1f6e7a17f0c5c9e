// The fields of spec.training: task, model, sampling, optimization and evaluation. The sampling options of DrawSpec
// come from sampler::VisitOptionMembers, so that a new option of the sampler appears in the document without a change
// here. The fields of embeddings (EmbeddingFields) are inserted after spec.training.inputs[].features.
#include <algorithm>

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
       .member = &DistTraining::training,
       .meaning = "training task, model and hyperparameters; optional only with `spec.trainers.program`"},
      {.path = "spec.training.task", .member = &Training::task, .required = true, .meaning = "prediction task"},
      {.path = "spec.training.task.type", .member = &Task::type, .required = true, .meaning = "type of the task"},
      {.path = "spec.training.task.nodeType",
       .member = &Task::node_type,
       .type = kName,
       .meaning = "node type with the labels; optional for a graph with one node type"},
      {.path = "spec.training.task.label",
       .member = &Task::label,
       .type = kName,
       .default_json = "\"node-label\"",
       .meaning =
           "node column with the labels; EdgeClassification, EdgeRegression: edge column with the labels (required)"},
      {.path = "spec.training.task.split",
       .member = &Task::split,
       .type = kName,
       .required = true,
       .meaning = "split with the training, validation and test nodes or edges"},
      {.path = "spec.training.task.multiLabel",
       .member = &Task::multi_label,
       .meaning =
           "NodeClassification, EdgeClassification: multi-label targets of 0 and 1; -1 and NaN are unknown entries"},
      {.path = "spec.training.task.exclude",
       .member = &Task::exclude,
       .stays_missing = true,
       .meaning = "EdgeClassification, EdgeRegression: edges excluded from neighbor sampling of a mini-batch: none, "
                  "its seed edges, or its seed edges and their reverse edges; by default None"},
      {.path = "spec.training.task.edgeType",
       .member = &Task::edge_type,
       .type = kEdgeType,
       .meaning = "edge tasks: edge type to predict; by default the only edge type, for LinkPrediction every edge "
                  "type, each with its own relation parameters"},
      {.path = "spec.training.task.edgeTypes",
       .member = &Task::edge_types,
       .type = kEdgeType,
       .minimum_items = 1,
       .maximum_items = 256,
       .meaning = "LinkPrediction: edge types to predict, instead of `edgeType`"},
      {.path = "spec.training.task.reverseEdgeType",
       .member = &Task::reverse_edge_type,
       .type = kEdgeType,
       .meaning =
           "edge tasks: edge type with the reverse edges of `edgeType`; where an edge is excluded, its reverse edge is "
           "excluded too; may be `edgeType` itself; by default the one that `addReverseEdges` adds"},
      {.path = "spec.training.task.negatives", .meaning = "LinkPrediction: negative sampling"},
      {.path = "spec.training.task.negatives.type",
       .member = &Task::negatives,
       .stays_missing = true,
       .meaning = "negative sampler; by default Uniform"},
      {.path = "spec.training.task.negatives.count",
       .member = &Task::num_negatives,
       .stays_missing = true,
       .minimum_integer = 1,
       .maximum_integer = 65536,
       .meaning = "number of negatives per positive edge; by default 1"},
      {.path = "spec.training.task.scorer",
       .member = &Task::scorer,
       .stays_missing = true,
       .meaning = "LinkPrediction: score function of two node embeddings; by default Dot"},
      {.path = "spec.training.task.loss",
       .member = &Task::loss,
       .stays_missing = true,
       .meaning = "LinkPrediction: loss; BinaryCrossEntropy: of each score by itself; CrossEntropy: of each positive "
                  "against its negatives; by default BinaryCrossEntropy"},
      {.path = "spec.training.inputs",
       .member = &Training::inputs,
       .minimum_items = 1,
       .maximum_items = 256,
       .required = true,
       .meaning = "model inputs, one entry per node type"},
      {.path = "spec.training.inputs[].nodeType",
       .member = &Input::node_type,
       .type = kName,
       .meaning = "node type; optional for a graph with one node type"},
      {.path = "spec.training.inputs[].features",
       .member = &Input::features,
       .type = kName,
       .minimum_items = 1,
       .maximum_items = 64,
       .meaning = "feature columns, concatenated in this order; optional with `embedding`"},
      {.path = "spec.training.model",
       .member = &Training::model,
       .required = true,
       .meaning = "model; it has as many layers as `sampling.layers` has entries"},
      {.path = "spec.training.model.type",
       .member = &Model::type,
       .required = true,
       .meaning = "architecture; Embedding does no message passing: the output of a node is its input"},
      {.path = "spec.training.model.aggregator",
       .member = &Model::aggregator,
       .meaning = "GraphSAGE: aggregator of neighbor features"},
      {.path = "spec.training.model.hiddenSize",
       .member = &Model::hidden_size,
       .minimum_integer = 1,
       .maximum_integer = 65536,
       .meaning = "width of the hidden layers; GAT, GATv2: of all heads together, `hiddenSize / heads` per head (DGL's "
                  "`num_hidden` is the width of one head)"},
      {.path = "spec.training.model.dropout",
       .member = &Model::dropout,
       .minimum = 0,
       .maximum = 1,
       .below_maximum = true,
       .meaning = "dropout probability of layer inputs during training"},
      {.path = "spec.training.model.normalization",
       .member = &Model::normalization,
       .meaning = "normalization between layers; Batch computes its statistics over the nodes of all trainers"},
      {.path = "spec.training.model.numBases",
       .member = &Model::num_bases,
       .minimum_integer = 0,
       .maximum_integer = 1000,
       .meaning = "RGCN: number of basis matrices; 0: one weight matrix per relation"},
      {.path = "spec.training.model.heads",
       .member = &Model::heads,
       .minimum_integer = 1,
       .maximum_integer = 256,
       .meaning =
           "GAT, GATv2: number of attention heads of hidden layers, which are concatenated; must divide `hiddenSize`"},
      {.path = "spec.training.model.outputHeads",
       .member = &Model::output_heads,
       .minimum_integer = 1,
       .maximum_integer = 256,
       .meaning = "GAT, GATv2: number of attention heads of the output layer, which are averaged"},
      {.path = "spec.training.model.negativeSlope",
       .member = &Model::negative_slope,
       .minimum = 0,
       .maximum = 1,
       .meaning = "GAT, GATv2: negative slope of the LeakyReLU of attention scores"},
      {.path = "spec.training.model.attentionDropout",
       .member = &Model::attention_dropout,
       .minimum = 0,
       .maximum = 1,
       .below_maximum = true,
       .meaning = "GAT, GATv2: dropout probability of attention weights during training"},
      {.path = "spec.training.model.uri",
       .member = &Model::uri,
       .type = kUri,
       .meaning = "model file with initial parameters; with `epochs: 0` the model is evaluated and applied without "
                  "training; TorchScript: the module (required)"},
  };
}

void AppendDrawFields(std::vector<FieldSpec>* table) {
  sampler::VisitOptionMembers([&]<class T>(const sampler::OptionText& text, T sampler::DrawSpec::*option) {
    // A text option is the name of a column.
    const FieldType type = std::is_same_v<T, std::string> ? kName : kObject;
    table->push_back({.path = std::string("spec.training.sampling.") + text.name,
                      .member = Member(&Sampling::draw, option),
                      .type = type,
                      .meaning = text.meaning});
  });
}

std::vector<FieldSpec> SamplingFields() {
  std::vector<FieldSpec> table = {
      {.path = "spec.training.sampling",
       .member = &Training::sampling,
       .required = true,
       .meaning = "neighbor sampling"},
      {.path = "spec.training.sampling.layers",
       .member = &Sampling::layers,
       .maximum_items = 16,
       .required = true,
       .meaning = "fan-outs, one entry per model layer; the first entry is the first layer of the model, farthest from "
                  "the seed nodes; empty for Embedding"},
      {.path = "spec.training.sampling.layers[].fanout",
       .member = &SamplingLayer::fanout,
       .minimum_integer = -1,
       .maximum_integer = 100000,
       .meaning = "fan-out: number of in-edges to sample per node and edge type; -1: all; 0: none"},
      {.path = "spec.training.sampling.layers[].edgeTypes",
       .member = &SamplingLayer::edge_types,
       .maximum_items = 1000,
       .list_key = "type",
       .meaning = "fan-outs per edge type; without `fanout`, other edge types are not sampled"},
      {.path = "spec.training.sampling.layers[].edgeTypes[].type",
       .member = &EdgeTypeFanout::type,
       .type = kEdgeType,
       .required = true,
       .meaning = "edge type, as `source:relation:destination` or as a unique relation"},
      {.path = "spec.training.sampling.layers[].edgeTypes[].fanout",
       .member = &EdgeTypeFanout::fanout,
       .required = true,
       .minimum_integer = -1,
       .maximum_integer = 100000,
       .meaning = "fan-out of this edge type"},
  };
  AppendDrawFields(&table);
  table.push_back({.path = "spec.training.sampling.seedTime",
                   .member = &Sampling::seed_time,
                   .type = kName,
                   .meaning = "node column with the integer timestamps of seed nodes; in-edges whose timestamp in "
                              "`graph.timeColumn` is later than the seed's are not sampled; by default in-edges of "
                              "every time are sampled"});
  return table;
}

std::vector<FieldSpec> OptimizationFields() {
  return {
      {.path = "spec.training.batchSize",
       .member = &Training::batch_size,
       .minimum_integer = 1,
       .maximum_integer = 1 << 24,
       .meaning = "global mini-batch size: number of seeds per step over all trainers"},
      {.path = "spec.training.epochs",
       .member = &Training::epochs,
       .minimum_integer = 0,
       .maximum_integer = 1'000'000,
       .meaning = "number of epochs; 0 (only with `model.uri`): evaluate and write outputs without training"},
      {.path = "spec.training.seed",
       .member = &Training::seed,
       .minimum_integer = 0,
       .maximum_integer = kMaxInt64,
       .meaning = "random seed of partitioning, mini-batches, sampling, initial values and dropout"},
      {.path = "spec.training.precision",
       .member = &Training::precision,
       .meaning = "precision of the matrix products of layers; BF16: mixed precision, with parameters, gradients, sums "
                  "over neighbors, losses and checkpoints in F32"},
      {.path = "spec.training.optimizer",
       .member = &Training::optimizer,
       .meaning = "optimizer of the model parameters"},
      {.path = "spec.training.optimizer.type", .member = &Optimizer::type, .meaning = "optimization algorithm"},
      {.path = "spec.training.optimizer.learningRate",
       .member = &Optimizer::learning_rate,
       .minimum = 0,
       .maximum = 1000,
       .above_minimum = true,
       .meaning = "learning rate"},
      {.path = "spec.training.optimizer.weightDecay",
       .member = &Optimizer::weight_decay,
       .minimum = 0,
       .maximum = 1000,
       .meaning = "weight decay: an L2 penalty, decoupled for AdamW"},
      {.path = "spec.training.optimizer.momentum",
       .member = &Optimizer::momentum,
       .minimum = 0,
       .maximum = 1,
       .below_maximum = true,
       .meaning = "SGD: momentum"},
      {.path = "spec.training.learningRateSchedule",
       .member = &Training::schedule,
       .meaning = "learning-rate schedule"},
  };
}

std::vector<FieldSpec> EvaluationFields() {
  return {
      {.path = "spec.training.evaluation", .member = &Training::evaluation, .meaning = "evaluation of the model"},
      {.path = "spec.training.evaluation.everyEpochs",
       .member = &Evaluation::every_epochs,
       .minimum_integer = 1,
       .maximum_integer = 1'000'000,
       .meaning = "number of epochs between evaluations"},
      {.path = "spec.training.evaluation.metric",
       .member = &Evaluation::metric,
       .stays_missing = true,
       .meaning = "metric that is reported and selects the best epoch; by default Accuracy, MicroF1 (multiLabel), "
                  "MeanSquaredError (regression) or MRR (LinkPrediction)"},
      {.path = "spec.training.evaluation.candidates",
       .member = &Evaluation::candidates,
       .stays_missing = true,
       .minimum_integer = 0,
       .maximum_integer = 1'000'000,
       .meaning =
           "LinkPrediction: number of candidate nodes, drawn for each edge, against which its destination is ranked; "
           "every evaluation of a run uses the same ones; by default 0, every node"},
      {.path = "spec.training.evaluation.filtered",
       .member = &Evaluation::filtered,
       .stays_missing = true,
       .meaning = "LinkPrediction: exclude candidates that are destinations of the same source in another edge of the "
                  "split (filtered ranking); by default true"},
      {.path = "spec.training.evaluation.k",
       .member = &Evaluation::k,
       .stays_missing = true,
       .minimum_integer = 1,
       .maximum_integer = 1'000'000,
       .meaning = "HitsAtK: k; an edge whose rank is at most k is a hit; by default 10"},
      {.path = "spec.training.evaluation.neighborhood",
       .member = &Evaluation::neighborhood,
       .meaning = "neighborhoods of the evaluation; Full: layer-wise inference over the whole graph; Sampled: with the "
                  "fan-outs of training"},
      {.path = "spec.training.evaluation.earlyStopping",
       .meaning = "stop training when the validation metric does not improve; by default it runs all epochs"},
      {.path = "spec.training.evaluation.earlyStopping.patience",
       .member = &Evaluation::patience,
       .required = true,
       .minimum_integer = 1,
       .maximum_integer = 1'000'000,
       .meaning = "number of evaluations without improvement before training stops"},
  };
}

}  // namespace

std::vector<FieldSpec> ScheduleFields(const std::string& path) {
  return {
      {.path = path + ".type",
       .member = &LearningRateSchedule::type,
       .meaning = "schedule after the warm-up; Linear and Cosine decay to 0 at the last step"},
      {.path = path + ".warmupSteps",
       .member = &LearningRateSchedule::warmup_steps,
       .minimum_integer = 0,
       .maximum_integer = 1'000'000'000,
       .meaning = "number of warm-up steps, over which the rate grows linearly"},
      {.path = path + ".stepEpochs",
       .member = &LearningRateSchedule::step_epochs,
       .minimum_integer = 1,
       .maximum_integer = 1'000'000,
       .meaning = "Step: number of epochs between multiplications by `factor`"},
      {.path = path + ".factor",
       .member = &LearningRateSchedule::factor,
       .minimum = 0,
       .maximum = 1,
       .above_minimum = true,
       .meaning = "Step: factor of the rate"},
  };
}

std::vector<FieldSpec> TrainingFields() {
  std::vector<FieldSpec> table;
  for (const std::vector<FieldSpec>& part :
       {TaskAndModelFields(), SamplingFields(), OptimizationFields(),
        ScheduleFields("spec.training.learningRateSchedule"), EvaluationFields()}) {
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
