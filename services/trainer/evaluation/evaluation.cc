// A pass is the same for every task: with full neighborhoods it computes hidden activations; then it calls a body that
// measures or exports, and drops the stored tensors. TaskEvaluation computes the metric. RunPass repeats a pass on
// DataLoss with new tensor names, because a restarted server has lost stored rows. After any other error it drops the
// stored rows if the servers answer soon, because other runs may share the servers.
#include "services/trainer/evaluation/evaluation.h"

#include <algorithm>
#include <chrono>

#include "services/collective/agreement.h"
#include "services/telemetry/log.h"

namespace espalier::trainer {
namespace {

constexpr int kPassAttempts = 5;
// Time limit of a request that drops a tensor after an error. It is short, because a server may be gone, or a stop
// request may have ended the pass.
constexpr std::chrono::seconds kDropTimeoutAfterError{2};

}  // namespace

EvaluationOptions MakeEvaluationOptions(const job::Training& training, const sampler::SamplingSpec& sampling,
                                        const InferenceOptions& inference, uint64_t incarnation) {
  EvaluationOptions evaluation;
  evaluation.neighborhood = training.evaluation.neighborhood;
  evaluation.sampling = sampling;
  evaluation.tensor_prefix = "espalier-inference-" + std::to_string(incarnation);
  evaluation.inference = inference;
  return evaluation;
}

Evaluator::Evaluator(collective::Collective& collective, EvaluationOptions options, FullInference inference,
                     std::shared_ptr<TaskEvaluation> task)
    : collective_(collective),
      options_(std::move(options)),
      inference_(std::move(inference)),
      task_(std::move(task)),
      names_(options_.tensor_prefix) {}

Result<std::unique_ptr<Evaluator>> Evaluator::Make(GraphAccess graph, const NodeData& data,
                                                   collective::Collective& collective, EvaluationOptions options,
                                                   std::shared_ptr<TaskEvaluation> task) {
  ASSIGN_OR_RETURN(FullInference inference,
                   FullInference::Make(graph, data, options.sampling, collective, options.inference));
  return std::unique_ptr<Evaluator>(
      new Evaluator(collective, std::move(options), std::move(inference), std::move(task)));
}

Result<std::optional<double>> Evaluator::Evaluate(Model& model, graph::SplitPartName part) {
  std::optional<double> metric;
  const PassWork work{RunPhase::kEvaluating, CountRows(std::span(&part, 1))};
  RETURN_IF_ERROR(RunPass(model, work, [&]() -> Status {
    ASSIGN_OR_RETURN(metric, ComputeMetric(model, part));
    return Status();
  }));
  return metric;
}

uint64_t Evaluator::CountRows(std::span<const graph::SplitPartName> parts) const {
  return (has_full_pass() ? inference_.CountHiddenRows() : 0) + task_->CountRows(parts);
}

Status Evaluator::RunPass(Model& model, const PassWork& work, const std::function<Status()>& body) {
  Status status;
  for (int attempt = 1; attempt <= kPassAttempts; ++attempt) {
    status = RunPassOnce(model, work, body);
    if (status.ok()) return status;
    if (status.code() != StatusCode::kDataLoss) {
      const Status dropped = inference_.DropHiddenUnsynchronized(PatienceAfter(status));
      if (!dropped.ok()) {
        telemetry::Log(telemetry::Level::kWarning, "stored activations were not dropped", {{"error", dropped}});
      }
      return status;
    }
    if (attempt < kPassAttempts) {
      telemetry::Log(telemetry::Level::kWarning, "a pass over the graph is repeated",
                     {{"attempt", attempt}, {"error", status}});
    }
    // Servers that were not restarted still hold the rows of the failed pass.
    RETURN_IF_ERROR(inference_.DropHidden());
  }
  return Unavailable(status.message() + "; given up after " + std::to_string(kPassAttempts) + " passes");
}

std::chrono::seconds Evaluator::PatienceAfter(const Status& status) const {
  const std::chrono::seconds data = options_.inference.timeouts.data;
  return status.ok() || status.code() == StatusCode::kDataLoss ? data : std::min(data, kDropTimeoutAfterError);
}

Status Evaluator::RunPassOnce(Model& model, const PassWork& work, const std::function<Status()>& body) {
  options_.inference.phases.Begin(work.phase, work.rows);
  if (has_full_pass()) RETURN_IF_ERROR(inference_.ComputeHidden(model, names_.Next()));
  const Status done = body();
  const Status dropped = task_->Drop(PatienceAfter(done));
  RETURN_IF_ERROR(done);
  RETURN_IF_ERROR(collective::AgreeOn(dropped, collective_, options_.inference.timeouts.collective));
  return inference_.DropHidden();
}

Result<std::optional<double>> Evaluator::ComputeMetric(Model& model, graph::SplitPartName part) {
  ASSIGN_OR_RETURN(MetricValue measured, task_->ComputeMetric(model, inference_, part, names_));
  if (!measured.value.has_value() && options_.on_undefined) options_.on_undefined(part, measured.undefined);
  return measured.value;
}

}  // namespace espalier::trainer
