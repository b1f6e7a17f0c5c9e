#include "services/trainer/evaluation/node_evaluation.h"

#include <algorithm>
#include <utility>

#include "services/base/hash.h"
#include "services/collective/agreement.h"
#include "services/trainer/evaluation/forward_pass.h"
#include "services/trainer/model/model_error.h"
#include "services/trainer/model/torch_error.h"

namespace espalier::trainer {
namespace {

// Returns the specification with another seed, so that evaluations use other random streams than training steps.
sampler::SamplingSpec WithEvaluationSeed(sampler::SamplingSpec spec) {
  spec.seed = HashCombine(spec.seed, Hash64("evaluation"));
  return spec;
}

}  // namespace

NodeEvaluation::NodeEvaluation(GraphAccess graph, const NodeData& data, collective::Collective& collective,
                               NodeEvaluationOptions options, sampler::FanoutSampler sampler)
    : graph_(graph), data_(data), collective_(collective), options_(std::move(options)), sampler_(std::move(sampler)) {}

Result<std::shared_ptr<NodeEvaluation>> NodeEvaluation::Make(GraphAccess graph, const NodeData& data,
                                                             collective::Collective& collective,
                                                             NodeEvaluationOptions options) {
  ASSIGN_OR_RETURN(sampler::FanoutSampler sampler,
                   sampler::FanoutSampler::Make(graph.neighbors, WithEvaluationSeed(options.sampling)));
  return std::shared_ptr<NodeEvaluation>(
      new NodeEvaluation(graph, data, collective, std::move(options), std::move(sampler)));
}

Result<MetricValue> NodeEvaluation::ComputeMetric(Model& model, FullInference& inference, graph::SplitPartName part,
                                                  TensorNames&) {
  MetricAccumulator metric(options_.metric, data_.num_outputs());
  if (options_.neighborhood == job::EvaluationNeighborhood::kFull) {
    RETURN_IF_ERROR(
        inference.ForSplit(model, options_.split, part, [&](uint64_t chunk, auto nodes, const torch::Tensor& outputs) {
          return AddChunk(chunk, nodes, outputs, metric);
        }));
  } else {
    RETURN_IF_ERROR(AddSampled(model, part, metric));
  }
  RETURN_IF_ERROR(metric.MergeOverRanks(collective_, options_.inference.timeouts.ForCollective()));
  return metric.ValueOrReason();
}

uint64_t NodeEvaluation::CountRows(std::span<const graph::SplitPartName> parts) const {
  uint64_t rows = 0;
  for (const graph::SplitPartName part : parts) {
    const Result<uint64_t> count = graph_.seeds.Count(data_.seed_type(), options_.split, part);
    if (count.ok()) rows += *count;
  }
  return rows;
}

Status NodeEvaluation::AddChunk(uint64_t chunk, std::span<const GlobalNodeId> nodes, const torch::Tensor& outputs,
                                MetricAccumulator& metric) {
  ASSIGN_OR_RETURN(const torch::Tensor labels, data_.Labels(nodes, options_.inference.timeouts.ForData()));
  RETURN_IF_ERROR(CheckLabels(data_.loss_kind(), labels, data_.num_outputs()));
  metric.Add(chunk, outputs, labels);
  return Status();
}

Status NodeEvaluation::AddSampled(Model& model, graph::SplitPartName part, MetricAccumulator& metric) {
  const uint64_t chunk_nodes = options_.inference.chunk_nodes;
  const auto compute = [&]() -> Status {
    ASSIGN_OR_RETURN(const uint64_t count, graph_.seeds.Count(data_.seed_type(), options_.split, part));
    for (uint32_t chunk = collective_.rank().value; chunk * chunk_nodes < count; chunk += collective_.size()) {
      RETURN_IF_ERROR(AddSampledChunk(model, part, chunk, metric));
      options_.inference.phases.Add(std::min(count - chunk * chunk_nodes, collective_.size() * chunk_nodes));
    }
    return Status();
  };
  return collective::AgreeOn(compute(), collective_, options_.inference.timeouts.collective);
}

Status NodeEvaluation::AddSampledChunk(Model& model, graph::SplitPartName part, uint32_t chunk,
                                       MetricAccumulator& metric) {
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
  } catch (const std::exception& error) {  // for example c10::Error if memory is exhausted
    return FromTorchError(error);
  }
  return Status();
}

}  // namespace espalier::trainer
