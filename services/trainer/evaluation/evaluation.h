// Metrics of a model on the parts of a split, over full neighbourhoods (layer by layer, exact) or sampled ones (the
// job's own fan-outs, drawn from random streams of their own). Either way the split is walked in original-id order
// in fixed-size chunks, so a metric does not depend on partitions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "services/trainer/evaluation/edge_evaluation.h"
#include "services/trainer/evaluation/full_inference.h"
#include "services/trainer/evaluation/link_evaluation.h"
#include "services/trainer/evaluation/metrics.h"

namespace espalier::trainer {

// How link prediction is measured.
struct LinkMeasure {
  LinkEvaluationOptions options;
  std::shared_ptr<const LinkScorer> scorer;
};

struct EvaluationOptions {
  job::Metric metric = job::Metric::kAccuracy;
  job::EvaluationNeighborhood neighborhood = job::EvaluationNeighborhood::kFull;
  std::string split;
  sampler::SamplingSpec sampling;
  std::string tensor_prefix;  // of stored activations; the job's incarnation makes it unique
  InferenceOptions inference;
  std::optional<LinkMeasure> links = {};  // set: edges of a split are ranked instead of nodes' outputs
  std::optional<EdgeMeasure> edges = {};  // set: outputs are those of a split's edges
  // May be empty. Called on every rank each time that a metric is undefined on a part, with the reason
  // (MetricValue::undefined).
  std::function<void(graph::SplitPartName part, const std::string& reason)> on_undefined = {};
};

// As the document says, but for what tasks on edges add.
EvaluationOptions MakeEvaluationOptions(const job::Training& training, const sampler::SamplingSpec& sampling,
                                        const InferenceOptions& inference, uint64_t incarnation);

// The phase that a pass begins with, and the rows that are computed in it.
struct PassWork {
  RunPhase phase = RunPhase::kEvaluating;
  uint64_t rows = 0;  // 0: not known
};

// Every rank calls the same functions in the same order. Owned by one thread.
class Evaluator {
 public:
  // Everything outlives this.
  static Result<std::unique_ptr<Evaluator>> Make(GraphAccess graph, const NodeData& data,
                                                 collective::Collective& collective, EvaluationOptions options);

  // One part with the model as it is, as a phase of its own (kEvaluating); none where no node of the part is labelled,
  // or it has no edges. The same on every rank.
  Result<std::optional<double>> Evaluate(Model& model, graph::SplitPartName part);

  // Returns the number of rows that a pass computes which measures `parts`, as PhaseTracker counts them.
  uint64_t CountRows(std::span<const graph::SplitPartName> parts) const;

  // For passes that want more than one part, or outputs too: what `body` computes of the model, with ComputeMetric and
  // inference(). Where a graph server was restarted meanwhile and has lost what the pass had stored, everything is
  // done again from the beginning, a few times at most: then `body` runs again. Its status is the same on every rank.
  // Each attempt begins with the phase of `work`.
  Status RunPass(Model& model, const PassWork& work, const std::function<Status()>& body);
  Result<std::optional<double>> ComputeMetric(Model& model, graph::SplitPartName part);

  // A pass over full neighbourhoods for outputs, whatever the metrics are computed over: ComputeHidden first, unless
  // has_full_pass() says that it has been done when `body` runs.
  FullInference& inference() { return inference_; }
  // Null but for tasks that label edges.
  EdgeEvaluation* edges() { return edges_.has_value() ? &*edges_ : nullptr; }
  bool has_full_pass() const { return options_.neighborhood == job::EvaluationNeighborhood::kFull; }
  std::string NextTensorPrefix();

 private:
  Evaluator(GraphAccess graph, const NodeData& data, collective::Collective& collective, EvaluationOptions options,
            FullInference inference, sampler::FanoutSampler sampler);
  Result<MetricValue> Measure(Model& model, graph::SplitPartName part);
  Status RunPassOnce(Model& model, const PassWork& work, const std::function<Status()>& body);
  Status AddChunk(uint64_t chunk, std::span<const GlobalNodeId> nodes, const torch::Tensor& outputs,
                  MetricAccumulator& metric);
  Status AddSampled(Model& model, graph::SplitPartName part, MetricAccumulator& metric);
  Status AddSampledChunk(Model& model, graph::SplitPartName part, uint32_t chunk, MetricAccumulator& metric);

  GraphAccess graph_;
  const NodeData& data_;
  collective::Collective& collective_;
  const EvaluationOptions options_;
  FullInference inference_;
  sampler::FanoutSampler sampler_;
  std::optional<LinkEvaluation> links_;
  std::optional<EdgeEvaluation> edges_;
  uint64_t num_passes_ = 0;
};

}  // namespace espalier::trainer
