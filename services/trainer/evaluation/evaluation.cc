// Measure delegates to LinkEvaluation or EdgeEvaluation for tasks on edges. Otherwise it computes the outputs of the
// part's nodes chunk by chunk, by full inference or by sampling, and adds them to a MetricAccumulator, which is merged
// over ranks. In both cases chunk c consists of the same nodes for any partitioning and is computed by rank c mod T of
// T ranks. RunPass repeats a pass on DataLoss with new tensor names, because a restarted server has lost stored rows.
// After any other error it drops the stored rows if the servers answer soon, because other runs may share the servers.
#include "services/trainer/evaluation/evaluation.h"

#include <algorithm>
#include <chrono>

#include "services/base/hash.h"
#include "services/collective/agreement.h"
#include "services/telemetry/log.h"
#include "services/trainer/evaluation/forward_pass.h"
#include "services/trainer/model/model_error.h"
#include "services/trainer/model/torch_error.h"

namespace espalier::trainer {
namespace {

constexpr int kPassAttempts = 5;
// Deadline of a request that drops a tensor after an error: a server may be gone, and a stop request may have ended the
// pass.
constexpr std::chrono::seconds kPatienceAfterError{2};

// Returns the specification with another seed, so that evaluations use other random streams than training steps.
sampler::SamplingSpec ForEvaluation(sampler::SamplingSpec spec) {
  spec.seed = HashCombine(spec.seed, Hash64("evaluation"));
  return spec;
}

}  // namespace

EvaluationOptions MakeEvaluationOptions(const job::Training& training, const sampler::SamplingSpec& sampling,
                                        const InferenceOptions& inference, uint64_t incarnation) {
  EvaluationOptions evaluation;
  evaluation.metric = training.evaluation.metric;
  evaluation.neighborhood = training.evaluation.neighborhood;
  evaluation.split = training.task.split;
  evaluation.sampling = sampling;
  evaluation.tensor_prefix = "espalier-inference-" + std::to_string(incarnation);
  evaluation.inference = inference;
  return evaluation;
}

Evaluator::Evaluator(GraphAccess graph, const NodeData& data, collective::Collective& collective,
                     EvaluationOptions options, FullInference inference, sampler::FanoutSampler sampler)
    : graph_(graph),
      data_(data),
      collective_(collective),
      options_(std::move(options)),
      inference_(std::move(inference)),
      sampler_(std::move(sampler)) {
  if (options_.links.has_value()) {
    links_.emplace(graph, data, collective, options_.links->options, options_.links->scorer);
  }
  if (options_.edges.has_value()) edges_.emplace(graph, data, collective, *options_.edges);
}

Result<std::unique_ptr<Evaluator>> Evaluator::Make(GraphAccess graph, const NodeData& data,
                                                   collective::Collective& collective, EvaluationOptions options) {
  ASSIGN_OR_RETURN(FullInference inference,
                   FullInference::Make(graph, data, options.sampling, collective, options.inference));
  ASSIGN_OR_RETURN(sampler::FanoutSampler sampler,
                   sampler::FanoutSampler::Make(graph.neighbors, ForEvaluation(options.sampling)));
  return std::unique_ptr<Evaluator>(
      new Evaluator(graph, data, collective, std::move(options), std::move(inference), std::move(sampler)));
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
  uint64_t rows = has_full_pass() ? inference_.CountHiddenRows() : 0;
  if (links_.has_value() || edges_.has_value()) {  // the last layer is computed for all nodes of the seed types
    for (const NodeTypeId type : data_.seed_types()) rows += graph_.neighbors.book().num_nodes(type);
  }
  for (const graph::SplitPartName part : parts) {
    if (links_.has_value()) {
      rows += links_->CountRows(part);
      continue;
    }
    // If a part cannot be read, the pass fails later; the count ignores it.
    const Result<uint64_t> count =
        edges_.has_value() ? edges_->Count(part) : graph_.seeds.Count(data_.seed_type(), options_.split, part);
    if (count.ok()) rows += *count;
  }
  return rows;
}

std::string Evaluator::NextTensorPrefix() { return options_.tensor_prefix + "-pass" + std::to_string(num_passes_++); }

Status Evaluator::RunPass(Model& model, const PassWork& work, const std::function<Status()>& body) {
  Status status;
  for (int attempt = 1; attempt <= kPassAttempts; ++attempt) {
    status = RunPassOnce(model, work, body);
    if (status.ok()) return status;
    if (status.code() != StatusCode::kDataLoss) {
      const Status dropped = inference_.DropHiddenUnsynchronized(PatienceAfter(status));
      if (!dropped.ok()) {
        telemetry::Log(telemetry::Level::kWarning, "stored activations not dropped", {{"error", dropped}});
      }
      return status;
    }
    telemetry::Log(telemetry::Level::kWarning, "a pass over the graph starts again",
                   {{"attempt", attempt}, {"error", status}});
    // Servers that were not restarted still hold their rows.
    RETURN_IF_ERROR(inference_.DropHidden());
  }
  return Unavailable(status.message() + "; given up after " + std::to_string(kPassAttempts) + " passes");
}

std::chrono::seconds Evaluator::PatienceAfter(const Status& status) const {
  const std::chrono::seconds data = options_.inference.timeouts.data;
  return status.ok() || status.code() == StatusCode::kDataLoss ? data : std::min(data, kPatienceAfterError);
}

Status Evaluator::RunPassOnce(Model& model, const PassWork& work, const std::function<Status()>& body) {
  BeginPhase(options_.inference.phases, work.phase, work.rows);
  if (has_full_pass()) RETURN_IF_ERROR(inference_.ComputeHidden(model, NextTensorPrefix()));
  const Status done = body();
  const std::chrono::seconds patience = PatienceAfter(done);
  const Status dropped = links_.has_value()   ? links_->Drop(patience)
                         : edges_.has_value() ? edges_->Drop(patience)
                                              : Status();
  RETURN_IF_ERROR(done);
  RETURN_IF_ERROR(collective::AgreeOn(dropped, collective_, options_.inference.timeouts.collective));
  return inference_.DropHidden();
}

Result<std::optional<double>> Evaluator::ComputeMetric(Model& model, graph::SplitPartName part) {
  ASSIGN_OR_RETURN(MetricValue measured, Measure(model, part));
  if (!measured.value.has_value() && options_.on_undefined) options_.on_undefined(part, measured.undefined);
  return measured.value;
}

Result<MetricValue> Evaluator::Measure(Model& model, graph::SplitPartName part) {
  if (links_.has_value()) return links_->ComputeMetric(model, inference_, part, NextTensorPrefix() + "-embeddings");
  if (edges_.has_value()) return edges_->ComputeMetric(model, inference_, part, NextTensorPrefix() + "-embeddings");
  MetricAccumulator metric(options_.metric, data_.num_outputs());
  if (has_full_pass()) {
    RETURN_IF_ERROR(
        inference_.ForSplit(model, options_.split, part, [&](uint64_t chunk, auto nodes, const torch::Tensor& outputs) {
          return AddChunk(chunk, nodes, outputs, metric);
        }));
  } else {
    RETURN_IF_ERROR(AddSampled(model, part, metric));
  }
  RETURN_IF_ERROR(metric.MergeOverRanks(collective_, options_.inference.timeouts.ForCollective()));
  return metric.ValueOrReason();
}

Status Evaluator::AddChunk(uint64_t chunk, std::span<const GlobalNodeId> nodes, const torch::Tensor& outputs,
                           MetricAccumulator& metric) {
  ASSIGN_OR_RETURN(const torch::Tensor labels, data_.Labels(nodes, options_.inference.timeouts.ForData()));
  RETURN_IF_ERROR(CheckLabels(data_.loss_kind(), labels, data_.num_outputs()));
  metric.Add(chunk, outputs, labels);
  return Status();
}

Status Evaluator::AddSampled(Model& model, graph::SplitPartName part, MetricAccumulator& metric) {
  const uint64_t chunk_nodes = options_.inference.chunk_nodes;
  const auto compute = [&]() -> Status {
    ASSIGN_OR_RETURN(const uint64_t count, graph_.seeds.Count(data_.seed_type(), options_.split, part));
    for (uint32_t chunk = collective_.rank().value; chunk * chunk_nodes < count; chunk += collective_.size()) {
      RETURN_IF_ERROR(AddSampledChunk(model, part, chunk, metric));
      AddRows(options_.inference.phases, std::min(count - chunk * chunk_nodes, collective_.size() * chunk_nodes));
    }
    return Status();
  };
  return collective::AgreeOn(compute(), collective_, options_.inference.timeouts.collective);
}

Status Evaluator::AddSampledChunk(Model& model, graph::SplitPartName part, uint32_t chunk, MetricAccumulator& metric) {
  RETURN_IF_ERROR(options_.inference.BeforeChunk());
  const Deadline deadline = options_.inference.timeouts.ForData();
  const sampler::SeedQuery query{.node_type = data_.seed_type(),
                                 .split = options_.split,
                                 .part = part,
                                 .shuffle = false,
                                 .step = chunk,
                                 .batch_size = options_.inference.chunk_nodes};
  ASSIGN_OR_RETURN(const sampler::GlobalBatch nodes, graph_.seeds.SeedsOfStep(query, deadline));
  const sampler::BatchRequest request{.step = chunk,
                                      .seed_type = data_.seed_type(),
                                      .seeds = nodes.seeds,
                                      .global_num_seeds = static_cast<uint32_t>(nodes.seeds.size())};
  ASSIGN_OR_RETURN(sampler::MiniBatch batch, sampler_.Sample(request, deadline));
  RETURN_IF_ERROR(options_.inference.BeforeChunk());
  ASSIGN_OR_RETURN(BatchTensors tensors, FetchBatch(std::move(batch), data_, deadline));
  for (uint16_t type = 0; type < tensors.features.size(); ++type) {
    ASSIGN_OR_RETURN(tensors.features[type], data_.WithLearnable(NodeTypeId(type), tensors.features[type],
                                                                 tensors.batch.nodes[type], deadline));
  }
  RETURN_IF_ERROR(CheckLabels(data_.loss_kind(), tensors.labels, data_.num_outputs()));
  RETURN_IF_ERROR(options_.inference.BeforeChunk());
  try {
    const torch::NoGradGuard no_gradients;
    metric.Add(chunk, ForwardPass(model, tensors, LayerRun()), tensors.labels);
  } catch (const ModelError& error) {
    return error.status();
  } catch (const std::exception& error) {  // for example torch, out of memory
    return StatusOfTorch(error);
  }
  return Status();
}

}  // namespace espalier::trainer
