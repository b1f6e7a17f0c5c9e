#include "services/trainer/evaluation/edge_evaluation.h"

#include <algorithm>
#include <utility>

#include "services/collective/agreement.h"
#include "services/trainer/model/torch_error.h"

namespace espalier::trainer {

EdgeEvaluation::EdgeEvaluation(GraphAccess graph, const NodeData& data, collective::Collective& collective,
                               EdgeEvaluationOptions options)
    : graph_(graph),
      collective_(collective),
      options_(std::move(options)),
      embeddings_(graph, data, collective, options_.timeouts) {}

Status EdgeEvaluation::StoreEmbeddings(Model& model, FullInference& inference, const std::string& tensor) {
  return embeddings_.Store(model, inference, tensor).While("computing embeddings");
}

Result<MetricValue> EdgeEvaluation::ComputeMetric(Model& model, FullInference& inference, graph::SplitPartName part,
                                                  TensorNames& names) {
  RETURN_IF_ERROR(StoreEmbeddings(model, inference, names.Next() + "-embeddings"));
  MetricAccumulator metric(options_.metric, options_.target.num_outputs);
  RETURN_IF_ERROR(collective::AgreeOn(AddPart(part, metric), collective_, options_.timeouts.collective)
                      .While("computing the metric of edges"));
  RETURN_IF_ERROR(metric.MergeOverRanks(collective_, options_.timeouts.ForCollective()));
  return metric.ValueOrReason();
}

uint64_t EdgeEvaluation::CountRows(std::span<const graph::SplitPartName> parts) const {
  uint64_t rows = embeddings_.CountRows();
  for (const graph::SplitPartName part : parts) {
    const Result<uint64_t> count = Count(part);
    if (count.ok()) rows += *count;
  }
  return rows;
}

Status EdgeEvaluation::AddPart(graph::SplitPartName part, MetricAccumulator& metric) const {
  ASSIGN_OR_RETURN(const uint64_t count, Count(part));
  const uint64_t size = options_.chunk_edges;
  for (uint64_t chunk = collective_.rank().value; chunk * size < count; chunk += collective_.size()) {
    if (options_.before_chunk) RETURN_IF_ERROR(options_.before_chunk());
    ASSIGN_OR_RETURN(const LabeledEdges edges,
                     ReadLabeledEdgeChunk(options_.target, graph_, part, chunk, size, options_.timeouts));
    ASSIGN_OR_RETURN(const torch::Tensor outputs, ComputeOutputs(edges.sources, edges.destinations));
    metric.Add(chunk, outputs, edges.labels);
    options_.phases.Add(std::min(count - chunk * size, collective_.size() * size));
  }
  return Status();
}

Result<uint64_t> EdgeEvaluation::Count(graph::SplitPartName part) const {
  return graph_.seeds.CountOfEdges(options_.target.edge_type, options_.target.split, part);
}

Result<EdgeOutputs> EdgeEvaluation::ComputeChunkOutputs(graph::SplitPartName part, uint64_t chunk) const {
  ASSIGN_OR_RETURN(sampler::GlobalBatch edges, ReadEdgeChunk(options_.target, graph_, part, chunk, options_.chunk_edges,
                                                             /*with_labels=*/false, options_.timeouts.ForData()));
  ASSIGN_OR_RETURN(const torch::Tensor outputs, ComputeOutputs(edges.sources, edges.seeds));
  return EdgeOutputs{std::move(edges.sources), std::move(edges.seeds), outputs};
}

Result<torch::Tensor> EdgeEvaluation::ComputeOutputs(const std::vector<GlobalNodeId>& source_nodes,
                                                     const std::vector<GlobalNodeId>& destination_nodes) const {
  const EdgeTypeId type = options_.target.edge_type;
  ASSIGN_OR_RETURN(const torch::Tensor sources, embeddings_.Read(graph_.schema().SourceOf(type), source_nodes));
  ASSIGN_OR_RETURN(const torch::Tensor destinations,
                   embeddings_.Read(graph_.schema().DestinationOf(type), destination_nodes));
  try {
    const torch::NoGradGuard no_gradients;
    return options_.head->Outputs(sources, destinations).contiguous().cpu();
  } catch (const std::exception& error) {  // for example c10::Error if memory is exhausted
    return FromTorchError(error);
  }
}

}  // namespace espalier::trainer
