// Computes metrics of a model on the parts of a split, with full neighborhoods (layer by layer, exact) or with sampled
// neighborhoods (the job's fan-outs, but other random streams than in training). In both cases the split is processed
// in chunks of fixed size, nodes in original-id order and edges in the user's order, so that a metric does not depend
// on the partitioning. A TaskEvaluation computes the metric of the job's task.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "services/trainer/evaluation/full_inference.h"
#include "services/trainer/evaluation/task_evaluation.h"

namespace espalier::trainer {

struct EvaluationOptions {
  job::EvaluationNeighborhood neighborhood = job::EvaluationNeighborhood::kFull;
  sampler::SamplingSpec sampling;
  // Prefix of the names of stored tensors. It contains the incarnation, so that a restarted group uses other names.
  std::string tensor_prefix;
  InferenceOptions inference;
  // Called on every rank each time a metric is undefined on a part, with MetricValue::undefined. May be empty.
  std::function<void(graph::SplitPartName part, const std::string& reason)> on_undefined = {};
};

// Returns the options that the document specifies. `incarnation` makes the tensor names unique.
EvaluationOptions MakeEvaluationOptions(const job::Training& training, const sampler::SamplingSpec& sampling,
                                        const InferenceOptions& inference, uint64_t incarnation);

// The phase in which a pass begins, and the number of rows that the phase computes.
struct PassWork {
  RunPhase phase = RunPhase::kEvaluating;
  uint64_t rows = 0;  // 0: unknown
};

// Every rank must call the same functions in the same order. Owned by one thread.
//
// A pass first computes the hidden activations of all nodes, if metrics use full neighborhoods. It then runs a body,
// which reads these activations. Finally the pass drops the activations. If the pass has already failed with an
// error other than DataLoss (see RunPass), a failure to drop them is only logged.
class Evaluator {
 public:
  // `data`, `collective` and the objects of `graph` outlive this. `task` is not null and was made for
  // options.neighborhood.
  static Result<std::unique_ptr<Evaluator>> Make(GraphAccess graph, const NodeData& data,
                                                 collective::Collective& collective, EvaluationOptions options,
                                                 std::shared_ptr<TaskEvaluation> task);

  // Returns the metric of the model on one part, the same on every rank; nullopt if it is undefined, for example
  // because no node of the part is labeled. Runs one pass in a new phase, kEvaluating.
  Result<std::optional<double>> Evaluate(Model& model, graph::SplitPartName part);

  // Returns the number of rows of a pass that measures `parts`, as PhaseTracker counts them.
  uint64_t CountRows(std::span<const graph::SplitPartName> parts) const;

  // Runs a pass for several parts, or for outputs: `body` calls ComputeMetric and inference(). Its status must be the
  // same on every rank. If a graph server was restarted meanwhile and has lost stored activations (DataLoss), the whole
  // pass with `body` is repeated, at most five attempts in total; then Unavailable. Each attempt begins with the phase
  // of `work`.
  Status RunPass(Model& model, const PassWork& work, const std::function<Status()>& body);
  // Returns the metric on a part, like Evaluate. Must be called within `body`.
  Result<std::optional<double>> ComputeMetric(Model& model, graph::SplitPartName part);

  // Returns the full-neighborhood inference for outputs, also if metrics use sampled neighborhoods. If has_full_pass(),
  // the pass has called its ComputeHidden; if not, `body` must call ComputeHidden first.
  FullInference& inference() { return inference_; }
  bool has_full_pass() const { return options_.neighborhood == job::EvaluationNeighborhood::kFull; }
  // Returns a new prefix for tensor names, the same on every rank.
  std::string NextTensorPrefix() { return names_.Next(); }

 private:
  Evaluator(collective::Collective& collective, EvaluationOptions options, FullInference inference,
            std::shared_ptr<TaskEvaluation> task);
  Status RunPassOnce(Model& model, const PassWork& work, const std::function<Status()>& body);
  // Returns the time limit of each request that drops a tensor of a pass that ended with `status`: a short one, unless
  // the pass succeeded or is repeated.
  std::chrono::seconds PatienceAfter(const Status& status) const;

  collective::Collective& collective_;
  const EvaluationOptions options_;
  FullInference inference_;
  const std::shared_ptr<TaskEvaluation> task_;
  TensorNames names_;
};

}  // namespace espalier::trainer
