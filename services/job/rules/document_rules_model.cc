// Rules of spec.training.model and of spec.training.optimizer. A field that the chosen model does not use must have its
// default, except hiddenSize of the model Embedding.
#include "services/job/rules/rule_check.h"

namespace espalier::job {
namespace {

constexpr char kModelPath[] = "spec.training.model";

// Returns the rule that an attention field has its default for models without attention. `cel` and `is_default` are
// true if the field has its default.
Rule AttentionRule(const std::string& field, const std::string& cel, bool (*is_default)(const Model& model)) {
  return {kModelPath, "self.type in ['GAT', 'GATv2'] || " + cel, "only for GAT and GATv2", field,
          Holds([is_default](const Model& self) { return IsAttention(self.type) || is_default(self); })};
}

std::vector<Rule> AttentionRules() {
  return {
      AttentionRule("heads", "self.heads == 1", [](const Model& model) { return model.heads == Model().heads; }),
      AttentionRule("outputHeads", "self.outputHeads == 1",
                    [](const Model& model) { return model.output_heads == Model().output_heads; }),
      AttentionRule("negativeSlope", "self.negativeSlope == 0.2",
                    [](const Model& model) { return model.negative_slope == Model().negative_slope; }),
      AttentionRule("attentionDropout", "self.attentionDropout == 0.0",
                    [](const Model& model) { return model.attention_dropout == Model().attention_dropout; }),
      {kModelPath, "!(self.type in ['GAT', 'GATv2']) || self.hiddenSize % self.heads == 0",
       "is not divisible by heads: it is the width of all heads together", "hiddenSize",
       Holds([](const Model& self) { return !IsAttention(self.type) || self.hidden_size % self.heads == 0; },
             [](const Model& self) {
               return ", such as " + std::to_string(self.heads * 8) + " for 8 columns a head; found " +
                      std::to_string(self.hidden_size) + " for " + std::to_string(self.heads) + " heads";
             })},
  };
}

// Returns the rule that a field has its default for TorchScript. `cel` and `is_default` are true if the field has its
// default.
Rule ModuleRule(const std::string& field, const std::string& cel, bool (*is_default)(const Model& model)) {
  return {kModelPath, "self.type != 'TorchScript' || " + cel, "not for TorchScript: the module has its own", field,
          Holds([is_default](const Model& self) { return self.type != ModelType::kTorchScript || is_default(self); })};
}

// A document with learnable rows must not have model.uri: model files do not contain the rows, so the run would
// silently lose those with which the model was trained. The exception is TorchScript, which always needs the module's
// file: a module may be trained with learnable rows, which then begin with their initial values.
std::vector<Rule> ModelFileRules() {
  return {
      {"spec.training", "self.epochs > 0 || has(self.model.uri)",
       "with 0 epochs, the run uses an existing model: set spec.training.model.uri, or train for at least 1 epoch",
       "epochs", Holds([](const Training& self) { return self.epochs > 0 || !self.model.uri.empty(); })},
      {"spec.training",
       "self.epochs > 0 || self.model.type != 'TorchScript' || !self.inputs.exists(input, has(input.embedding))",
       "with 0 epochs, a module with learnable rows needs trained rows, which only a checkpoint contains: train for at "
       "least 1 epoch, or set resumeFrom to a checkpoint and epochs to its number of trained epochs",
       "epochs", Holds([](const Training& self) {
         return self.epochs > 0 || self.model.type != ModelType::kTorchScript || !HasEmbeddings(self);
       })},
      {kModelPath, "self.type != 'TorchScript' || has(self.uri)", "TorchScript needs the module's file", "uri",
       Holds([](const Model& self) { return self.type != ModelType::kTorchScript || !self.uri.empty(); })},
      {"spec",
       IfTraining("!has(self.training.model.uri) || self.training.model.type == 'TorchScript' || "
                  "!self.training.inputs.exists(input, has(input.embedding))"),
       "learnable rows are not part of model files", "training.model.uri", Holds([](const DistTraining& self) {
         const Model& model = self.training.model;
         return !self.has_training || model.uri.empty() || model.type == ModelType::kTorchScript ||
                !HasEmbeddings(self.training);
       })},
  };
}

}  // namespace

std::vector<Rule> ModelRules() {
  std::vector<Rule> rules = {
      {kModelPath, "self.type == 'RGCN' || self.numBases == 0", "only for RGCN", "numBases",
       Holds([](const Model& self) { return self.type == ModelType::kRgcn || self.num_bases == 0; })},
      {kModelPath, "self.type == 'GraphSAGE' || self.aggregator == 'Mean'", "only for GraphSAGE", "aggregator",
       Holds([](const Model& self) {
         return self.type == ModelType::kGraphSage || self.aggregator == Aggregator::kMean;
       })},
      {"spec.training", "self.model.type != 'Embedding' || self.task.type == 'LinkPrediction'",
       "Embedding is for LinkPrediction: it has no outputs for other tasks", "model.type",
       Holds([](const Training& self) {
         return self.model.type != ModelType::kEmbedding || self.task.type == TaskType::kLinkPrediction;
       })},
      {kModelPath, "self.type != 'Embedding' || self.normalization == 'None'", "Embedding has no hidden layers",
       "normalization", Holds([](const Model& self) {
         return self.type != ModelType::kEmbedding || self.normalization == LayerNormalization::kNone;
       })},
      ModuleRule("hiddenSize", "self.hiddenSize == 64",
                 [](const Model& model) { return model.hidden_size == Model().hidden_size; }),
      ModuleRule("dropout", "self.dropout == 0.5", [](const Model& model) { return model.dropout == Model().dropout; }),
      ModuleRule("normalization", "self.normalization == 'None'",
                 [](const Model& model) { return model.normalization == LayerNormalization::kNone; }),
      {"spec.training.optimizer", "self.type == 'SGD' || self.momentum == 0.0", "only for SGD", "momentum",
       Holds([](const Optimizer& self) { return self.type == OptimizerType::kSgd || self.momentum == 0; })},
  };
  for (const std::vector<Rule>& part : {AttentionRules(), ModelFileRules()}) {
    rules.insert(rules.end(), part.begin(), part.end());
  }
  return rules;
}

}  // namespace espalier::job
