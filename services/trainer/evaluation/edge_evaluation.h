// How well a model predicts the labels of the edges of a split's part, and what it predicts.
//
// Embeddings are those of full-neighbourhood inference over the whole graph. They wait on the owners of their rows;
// edges are walked in the user's order in fixed chunks, chunk c by rank c mod T, so neither metrics nor outputs depend
// on partitions or trainers.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/trainer/data/edge_target.h"
#include "services/trainer/evaluation/metrics.h"
#include "services/trainer/evaluation/stored_embeddings.h"
#include "services/trainer/model/edge_head.h"

namespace espalier::trainer {

// How edges are measured.
struct EdgeMeasure {
  job::Metric metric = job::Metric::kAccuracy;
  EdgeTarget target;
  std::shared_ptr<EdgeHead> head;  // the model's
  uint64_t chunk_edges = 4096;     // results depend on it
  Timeouts timeouts;
  std::function<Status()> before_chunk = {};  // as InferenceOptions
  PhaseTracker* phases = nullptr;             // likewise: counts edges
};

// Edges in the user's order and what the model says of them.
struct EdgeOutputs {
  std::vector<GlobalNodeId> sources, destinations;  // [n]
  torch::Tensor outputs;                            // f32 [n, C]
};

// Owned by one thread.
class EdgeEvaluation {
 public:
  // Everything outlives this.
  EdgeEvaluation(GraphAccess graph, const NodeData& data, collective::Collective& collective, EdgeMeasure measure);

  const EdgeTarget& target() const { return measure_.target; }

  // Every rank calls these in the same order, after inference.ComputeHidden.
  //
  // `tensor` names what keeps the embeddings until Drop: later calls use those that are there. Undefined where no edge
  // of the part is labelled.
  Result<MetricValue> ComputeMetric(Model& model, FullInference& inference, graph::SplitPartName part,
                                    const std::string& tensor);
  Status StoreEmbeddings(Model& model, FullInference& inference, const std::string& tensor);
  Status Drop();

  // After StoreEmbeddings, by any rank for itself.
  Result<uint64_t> Count(graph::SplitPartName part) const;
  Result<EdgeOutputs> OutputsOfChunk(graph::SplitPartName part, uint64_t chunk) const;
  uint64_t chunk_edges() const { return measure_.chunk_edges; }

 private:
  Status AddPart(graph::SplitPartName part, MetricAccumulator& metric) const;
  Result<torch::Tensor> ComputeOutputs(const std::vector<GlobalNodeId>& source_nodes,
                                       const std::vector<GlobalNodeId>& destination_nodes) const;

  GraphAccess graph_;
  collective::Collective& collective_;
  const EdgeMeasure measure_;
  StoredEmbeddings embeddings_;
};

}  // namespace espalier::trainer
