// Rules of spec.training.sampling.
#include <algorithm>

#include "services/job/rules/rule_check.h"

namespace espalier::job {
namespace {

// Returns the CEL expression that is true if `field` has the value `unset`, its default.
std::string CelIsUnset(const std::string& field, bool unset) { return (unset ? "" : "!") + field; }
std::string CelIsUnset(const std::string& field, const std::string&) { return "!has(" + field + ")"; }
template <sampler::Spelled E>
std::string CelIsUnset(const std::string& field, E unset) {
  return field + " == '" + ToString(unset) + "'";
}

// Returns a CEL expression at spec.training that is true if all sampling options of DrawSpec have their defaults.
std::string NoDrawOptions() {
  const sampler::DrawSpec unset;
  std::string cel;
  sampler::VisitOptions(unset, [&](const sampler::OptionText& text, const auto& option) {
    cel += (cel.empty() ? "" : " && ") + CelIsUnset(std::string("self.sampling.") + text.name, option);
  });
  return cel;
}

std::vector<Rule> LayerRules() {
  const std::string layer = "spec.training.sampling.layers[]";
  return {
      {"spec.training", "self.model.type == 'Embedding' || size(self.sampling.layers) > 0",
       "expected at least 1: only the model Embedding has none", "sampling.layers", Holds([](const Training& self) {
         return self.model.type == ModelType::kEmbedding || !self.sampling.layers.empty();
       })},
      {"spec.training", "self.model.type != 'Embedding' || size(self.sampling.layers) == 0",
       "the model Embedding reads no neighbors: write []", "sampling.layers", Holds([](const Training& self) {
         return self.model.type != ModelType::kEmbedding || self.sampling.layers.empty();
       })},
      {"spec.training", "self.model.type != 'Embedding' || (" + NoDrawOptions() + ")",
       "the model Embedding samples nothing: omit everything except layers: []", "sampling",
       Holds([](const Training& self) {
         sampler::DrawSpec draw = self.sampling.draw;
         draw.time_column.clear();  // belongs to spec.graph
         return self.model.type != ModelType::kEmbedding || draw == sampler::DrawSpec();
       })},
      {.at = layer,
       .cel = "has(self.fanout) || (has(self.edgeTypes) && size(self.edgeTypes) > 0)",
       .message = "expected fanout, edgeTypes or both",
       .check = Holds([](const SamplingLayer& self) { return self.fanout.has_value() || !self.edge_types.empty(); }),
       .is_required = true},
      {layer,
       "!(has(self.fanout) || (has(self.edgeTypes) && size(self.edgeTypes) > 0)) || (has(self.fanout) && self.fanout "
       "!= 0) || (has(self.edgeTypes) && self.edgeTypes.exists(edge_type, edge_type.fanout != 0))",
       "samples no neighbors: expected a fan-out above 0, or -1 for all", "", Holds([](const SamplingLayer& self) {
         const bool is_empty = !self.fanout.has_value() && self.edge_types.empty();
         return is_empty || self.fanout.value_or(0) != 0 ||
                std::any_of(self.edge_types.begin(), self.edge_types.end(),
                            [](const EdgeTypeFanout& edge_type) { return edge_type.fanout != 0; });
       })},
  };
}

std::vector<Rule> MethodRules() {
  const std::string sampling = "spec.training.sampling";
  return {
      {sampling, "self.method == 'Neighbor' || !self.replace", "Labor and Last sample without replacement", "replace",
       Holds([](const Sampling& self) {
         return self.draw.method == sampler::DrawMethod::kNeighbor || !self.draw.replace;
       })},
      {sampling, "self.method == 'Labor' || !self.layerDependency", "only for Labor", "layerDependency",
       Holds([](const Sampling& self) {
         return self.draw.method == sampler::DrawMethod::kLabor || !self.draw.layer_dependency;
       })},
      {"spec", IfTraining("self.training.sampling.method != 'Last' || has(self.graph.timeColumn)"),
       "Last needs in-edges ordered by time: set spec.graph.timeColumn", "training.sampling.method",
       Holds([](const DistTraining& self) {
         return !self.has_training || self.training.sampling.draw.method != sampler::DrawMethod::kLast ||
                !self.graph.time_column.empty();
       })},
  };
}

bool HasSeedTime(const DistTraining& job) { return job.has_training && !job.training.sampling.seed_time.empty(); }

std::vector<Rule> SeedTimeRules() {
  const std::string has_no_seed_time_or = "!has(self.training) || !has(self.training.sampling.seedTime) || ";
  return {
      {"spec", has_no_seed_time_or + "has(self.graph.timeColumn)",
       "needs in-edges ordered by time: set spec.graph.timeColumn", "training.sampling.seedTime",
       Holds([](const DistTraining& self) { return !HasSeedTime(self) || !self.graph.time_column.empty(); })},
      // GCN normalizes by degrees that count all edges of the graph, also those later than the seed's time.
      {"spec", has_no_seed_time_or + "self.training.model.type != 'GCN'",
       "not supported with the model GCN, whose degrees include edges later than a node's time",
       "training.sampling.seedTime", Holds([](const DistTraining& self) {
         return !HasSeedTime(self) || self.training.model.type != ModelType::kGcn;
       })},
      // Layer-wise inference computes one row per node, but temporal sampling needs one per node and time.
      {"spec", has_no_seed_time_or + "self.training.evaluation.neighborhood == 'Sampled'",
       "with spec.training.sampling.seedTime, expected Sampled: Full would use edges that are later than a node's time",
       "training.evaluation.neighborhood", Holds([](const DistTraining& self) {
         return !HasSeedTime(self) || self.training.evaluation.neighborhood == EvaluationNeighborhood::kSampled;
       })},
      {"spec",
       has_no_seed_time_or + "!has(self.output.save) || self.output.save.all(kind, kind in ['Model', 'TorchScript'])",
       "with spec.training.sampling.seedTime, omit Embeddings and Predictions: they are computed from full "
       "neighborhoods, including edges that are later than a node's time",
       "output.save", Holds([](const DistTraining& self) {
         return !HasSeedTime(self) || (!Saves(self, OutputKind::kEmbeddings) && !Saves(self, OutputKind::kPredictions));
       })},
  };
}

}  // namespace

std::vector<Rule> SamplingRules() {
  std::vector<Rule> rules;
  for (const std::vector<Rule>& part : {LayerRules(), MethodRules(), SeedTimeRules()}) {
    rules.insert(rules.end(), part.begin(), part.end());
  }
  return rules;
}

}  // namespace espalier::job
