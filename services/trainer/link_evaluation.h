// How well a model ranks the edges of a split's part: each edge's destination among candidates, with its source.
//
// Embeddings are those of full-neighbourhood inference over the graph without held-out edges, so no edge that is
// measured is seen. They wait on the owners of their rows; edges are walked in the user's order in fixed chunks, chunk
// c by rank c mod T, so a metric does not depend on partitions or trainers.
//
// Candidates are every node of the destination's type, or `num_candidates` that are drawn for each edge once and for
// all (RandomPurpose::kCandidates). The destination itself is none. Filtered (Bordes et al., NIPS 2013): nor is a node
// that the source has an edge to in any part of the split.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/trainer/full_inference.h"
#include "services/trainer/link_scorer.h"
#include "services/trainer/metrics.h"

namespace espalier::trainer {

struct LinkEvaluationOptions {
  job::Metric metric = job::Metric::kMrr;
  std::string split;
  EdgeTypeId edge_type;
  uint32_t num_candidates = 0;  // 0: every node
  bool filtered = true;
  int64_t k = 10;
  uint64_t seed = 0;
  uint64_t chunk_nodes = 4096;  // of embeddings scored at once
  Timeouts timeouts;
};

// Every rank calls the same functions in the same order. Owned by one thread.
class LinkEvaluation {
 public:
  // Everything outlives this. The scorer is the model's.
  LinkEvaluation(GraphAccess graph, const NodeData& data, collective::Collective& collective,
                 LinkEvaluationOptions options, std::shared_ptr<const LinkScorer> scorer);

  // After inference.ComputeHidden; `tensor` names what keeps the embeddings meanwhile. None where the part is empty.
  Result<std::optional<double>> MetricOf(Model& model, FullInference& inference, graph::SplitPartName part,
                                         const std::string& tensor);

 private:
  // Pairs of a part in the user's order, by global ids.
  struct Chunk {
    std::vector<GlobalNodeId> sources, destinations;
  };

  Status StoreEmbeddings(Model& model, FullInference& inference, const std::string& tensor);
  Status DropEmbeddings(const std::string& tensor);
  Status AddPart(graph::SplitPartName part, const std::string& tensor, MetricAccumulator& metric);
  Status AddChunk(uint64_t chunk, uint64_t first_ordinal, graph::SplitPartName part, const Chunk& edges,
                  const std::string& tensor, MetricAccumulator& metric);
  Result<Chunk> EdgesOf(graph::SplitPartName part, uint64_t chunk, uint64_t chunk_size);
  Result<torch::Tensor> Embeddings(const std::string& tensor, std::span<const GlobalNodeId> nodes);
  // Scores [n, 1 + candidates], the edge's own first; `counts` likewise, 0 where a candidate does not count.
  Status ScoreAgainstAll(const Chunk& edges, const std::string& tensor, torch::Tensor* scores,
                         std::vector<uint8_t>* counts);
  Status ScoreAgainstDrawn(uint64_t first_ordinal, graph::SplitPartName part, const Chunk& edges,
                           const std::string& tensor, torch::Tensor* scores, std::vector<uint8_t>* counts);
  void Filter(const Chunk& edges, std::span<const GlobalNodeId> candidates, size_t candidates_each,
              std::vector<uint8_t>* counts) const;
  // The destinations of every source that is measured, from all parts of the split.
  Status LearnKnownEdges();
  bool IsKnown(GlobalNodeId source, GlobalNodeId destination) const;

  GraphAccess graph_;
  const NodeData& data_;
  collective::Collective& collective_;
  const LinkEvaluationOptions options_;
  const std::shared_ptr<const LinkScorer> scorer_;
  bool knows_edges_ = false;
  absl::flat_hash_map<uint64_t, std::vector<uint64_t>> known_;  // source -> destinations, ascending
};

}  // namespace espalier::trainer
