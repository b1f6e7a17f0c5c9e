// Evaluates a model's outputs for the nodes of a split's part, with full or sampled neighborhoods.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "services/trainer/evaluation/task_evaluation.h"

namespace espalier::trainer {

struct NodeEvaluationOptions {
  job::Metric metric = job::Metric::kAccuracy;
  std::string split;
  job::EvaluationNeighborhood neighborhood = job::EvaluationNeighborhood::kFull;
  sampler::SamplingSpec sampling;  // of the training steps; sampled evaluations use its fan-outs with another seed
  InferenceOptions inference;
};

// Chunk c of a part consists of the same nodes for any partitioning. With T trainers, rank c mod T computes chunk c.
class NodeEvaluation final : public TaskEvaluation {
 public:
  // `data`, `collective` and the objects of `graph` outlive this. InvalidArgument: the sampling specification does not
  // fit the graph.
  static Result<std::shared_ptr<NodeEvaluation>> Make(GraphAccess graph, const NodeData& data,
                                                      collective::Collective& collective,
                                                      NodeEvaluationOptions options);

  // The metric is undefined if no node of the part is labeled. Stores no tensors.
  Result<MetricValue> ComputeMetric(Model& model, FullInference& inference, graph::SplitPartName part,
                                    TensorNames& names) override;
  uint64_t CountRows(std::span<const graph::SplitPartName> parts) const override;

 private:
  NodeEvaluation(GraphAccess graph, const NodeData& data, collective::Collective& collective,
                 NodeEvaluationOptions options, sampler::FanoutSampler sampler);
  // Reads the labels of a chunk's nodes and adds outputs and labels to the metric.
  Status AddChunk(uint64_t chunk, std::span<const GlobalNodeId> nodes, const torch::Tensor& outputs,
                  MetricAccumulator& metric);
  // Adds this rank's chunks of a part, with sampled neighborhoods. Returns the same status on every rank.
  Status AddSampled(Model& model, graph::SplitPartName part, MetricAccumulator& metric);
  Status AddSampledChunk(Model& model, graph::SplitPartName part, uint32_t chunk, MetricAccumulator& metric);

  GraphAccess graph_;
  const NodeData& data_;
  collective::Collective& collective_;
  const NodeEvaluationOptions options_;
  sampler::FanoutSampler sampler_;
};

}  // namespace espalier::trainer
