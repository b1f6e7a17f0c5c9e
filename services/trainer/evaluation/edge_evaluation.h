// Evaluates and predicts the labels of the edges of a split's part.
//
// Embeddings come from full-neighborhood inference over the whole graph and are stored on the owners of their rows.
// Edges are processed in the user's order in chunks of fixed size; of T trainers, rank c mod T processes chunk c. Hence
// neither metrics nor outputs depend on the partitioning or the number of trainers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/trainer/data/edge_target.h"
#include "services/trainer/evaluation/stored_embeddings.h"
#include "services/trainer/evaluation/task_evaluation.h"
#include "services/trainer/model/edge_head.h"

namespace espalier::trainer {

struct EdgeEvaluationOptions {
  job::Metric metric = job::Metric::kAccuracy;
  EdgeTarget target;
  std::shared_ptr<EdgeHead> head;  // a submodule of the model
  uint64_t chunk_edges = 4096;     // edges per chunk; another value changes the rounding of metrics
  Timeouts timeouts;
  std::function<Status()> before_chunk = {};  // as in InferenceOptions
  PhaseTracker phases = {};                   // counts edges whose outputs are computed
};

// Edges in the user's order with the model's outputs.
struct EdgeOutputs {
  std::vector<GlobalNodeId> sources, destinations;  // [n]
  torch::Tensor outputs;                            // f32 [n, EdgeTarget::num_outputs], on the CPU
};

class EdgeEvaluation final : public TaskEvaluation {
 public:
  // `data`, `collective` and the objects of `graph` outlive this.
  EdgeEvaluation(GraphAccess graph, const NodeData& data, collective::Collective& collective,
                 EdgeEvaluationOptions options);

  const EdgeTarget& target() const { return options_.target; }

  // The metric is undefined if no edge of the part is labeled. inference.ComputeHidden must have been called. Stores
  // the embeddings if none are stored yet; they stay until Drop.
  Result<MetricValue> ComputeMetric(Model& model, FullInference& inference, graph::SplitPartName part,
                                    TensorNames& names) override;
  // Counts the edges of `parts` and the rows of the last layer, which is computed for all nodes of the seed types (the
  // types of the edges' endpoints).
  uint64_t CountRows(std::span<const graph::SplitPartName> parts) const override;
  Status Drop(std::chrono::seconds patience) override { return embeddings_.Drop(patience); }

  // Computes the embeddings and stores them in the distributed tensor `tensor` of each seed type.
  // inference.ComputeHidden must have been called. Does nothing if embeddings are stored already. Every rank must call
  // it.
  Status StoreEmbeddings(Model& model, FullInference& inference, const std::string& tensor);

  // A rank may call the next two functions alone.
  //
  // Returns the number of edges of a part.
  Result<uint64_t> Count(graph::SplitPartName part) const;
  // Returns the edges of a chunk with the model's outputs. StoreEmbeddings must have been called.
  Result<EdgeOutputs> ComputeChunkOutputs(graph::SplitPartName part, uint64_t chunk) const;
  uint64_t chunk_edges() const { return options_.chunk_edges; }

 private:
  // Adds this rank's chunks of a part to the metric.
  Status AddPart(graph::SplitPartName part, MetricAccumulator& metric) const;
  Result<torch::Tensor> ComputeOutputs(const std::vector<GlobalNodeId>& source_nodes,
                                       const std::vector<GlobalNodeId>& destination_nodes) const;

  GraphAccess graph_;
  collective::Collective& collective_;
  const EdgeEvaluationOptions options_;
  StoredEmbeddings embeddings_;
};

}  // namespace espalier::trainer
