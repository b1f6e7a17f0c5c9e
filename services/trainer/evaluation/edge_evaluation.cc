#include "services/trainer/evaluation/edge_evaluation.h"

#include <algorithm>
#include <utility>

#include "services/collective/agreement.h"
#include "services/trainer/model/torch_error.h"

namespace espalier::trainer {

EdgeEvaluation::EdgeEvaluation(GraphAccess graph, const NodeData& data, collective::Collective& collective,
                               EdgeMeasure measure)
    : graph_(graph),
      collective_(collective),
      measure_(std::move(measure)),
      embeddings_(graph, data, collective, measure_.timeouts) {}

Status EdgeEvaluation::StoreEmbeddings(Model& model, FullInference& inference, const std::string& tensor) {
  return embeddings_.Store(model, inference, tensor).While("computing embeddings");
}

Result<MetricValue> EdgeEvaluation::ComputeMetric(Model& model, FullInference& inference, graph::SplitPartName part,
                                                  TensorNames& names) {
  RETURN_IF_ERROR(StoreEmbeddings(model, inference, names.Next() + "-embeddings"));
  MetricAccumulator metric(measure_.metric, measure_.target.num_outputs);
  RETURN_IF_ERROR(
      collective::AgreeOn(AddPart(part, metric), collective_, measure_.timeouts.collective).While("measuring edges"));
  RETURN_IF_ERROR(metric.MergeOverRanks(collective_, measure_.timeouts.ForCollective()));
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
  const uint64_t size = measure_.chunk_edges;
  for (uint64_t chunk = collective_.rank().value; chunk * size < count; chunk += collective_.size()) {
    if (measure_.before_chunk) RETURN_IF_ERROR(measure_.before_chunk());
    ASSIGN_OR_RETURN(const LabeledEdges edges,
                     LabeledEdgesOfChunk(measure_.target, graph_, part, chunk, size, measure_.timeouts));
    ASSIGN_OR_RETURN(const torch::Tensor outputs, ComputeOutputs(edges.sources, edges.destinations));
    metric.Add(chunk, outputs, edges.labels);
    measure_.phases.Add(std::min(count - chunk * size, collective_.size() * size));
  }
  return Status();
}

Result<uint64_t> EdgeEvaluation::Count(graph::SplitPartName part) const {
  return graph_.seeds.CountOfEdges(measure_.target.edge_type, measure_.target.split, part);
}

Result<EdgeOutputs> EdgeEvaluation::OutputsOfChunk(graph::SplitPartName part, uint64_t chunk) const {
  ASSIGN_OR_RETURN(sampler::GlobalBatch edges, EdgesOfChunk(measure_.target, graph_, part, chunk, measure_.chunk_edges,
                                                            false, measure_.timeouts.ForData()));
  ASSIGN_OR_RETURN(const torch::Tensor outputs, ComputeOutputs(edges.sources, edges.seeds));
  return EdgeOutputs{std::move(edges.sources), std::move(edges.seeds), outputs};
}

Result<torch::Tensor> EdgeEvaluation::ComputeOutputs(const std::vector<GlobalNodeId>& source_nodes,
                                                     const std::vector<GlobalNodeId>& destination_nodes) const {
  const EdgeTypeId type = measure_.target.edge_type;
  ASSIGN_OR_RETURN(const torch::Tensor sources, embeddings_.Read(graph_.schema().SourceOf(type), source_nodes));
  ASSIGN_OR_RETURN(const torch::Tensor destinations,
                   embeddings_.Read(graph_.schema().DestinationOf(type), destination_nodes));
  try {
    const torch::NoGradGuard no_gradients;
    return measure_.head->Outputs(sources, destinations).contiguous().cpu();
  } catch (const std::exception& error) {  // for example torch, out of memory
    return StatusOfTorch(error);
  }
}

}  // namespace espalier::trainer
