// How well a model ranks the edges of a split's part: each edge's destination among candidates, with its source and its
// edge type.
//
// Embeddings are those of full-neighbourhood inference over the graph without held-out edges, so no edge that is
// measured is seen. They wait on the owners of their rows, under one name for each node type; edges are walked in the
// user's order, type after type, in fixed chunks, chunk c by rank c mod T, so a metric does not depend on partitions or
// trainers.
//
// Candidates are every node of the destination's type, or `num_candidates` that are drawn for each edge once and for
// all (RandomPurpose::kCandidates). The destination itself is none. Filtered (Bordes et al., NIPS 2013): nor is a node
// that the source has an edge of the same type to in any part of the split; where a type's edges stand for both
// directions (LinkType::reverse_type is the type itself), nor one that has such an edge to the source.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/sampler/seeds/edge_exclusions.h"
#include "services/trainer/evaluation/full_inference.h"
#include "services/trainer/evaluation/metrics.h"
#include "services/trainer/model/link_scorer.h"

namespace espalier::trainer {

struct LinkEvaluationOptions {
  job::Metric metric = job::Metric::kMrr;
  std::string split;
  std::vector<sampler::LinkType> types;  // as LinkPlan's; their numbers are the scorer's relations
  uint32_t num_candidates = 0;           // 0: every node
  bool filtered = true;
  int64_t k = 10;
  uint64_t seed = 0;
  uint64_t chunk_nodes = 4096;  // of embeddings scored at once
  Timeouts timeouts;
  std::function<Status()> before_chunk = {};  // as InferenceOptions
  PhaseTracker* phases = nullptr;             // likewise: counts candidates that are scored
};

// Every rank calls the same functions in the same order. Owned by one thread.
class LinkEvaluation {
 public:
  // Everything outlives this. The scorer is the model's.
  LinkEvaluation(GraphAccess graph, const NodeData& data, collective::Collective& collective,
                 LinkEvaluationOptions options, std::shared_ptr<const LinkScorer> scorer);

  // After inference.ComputeHidden. `tensor` names what keeps the embeddings until Drop: further parts are measured on
  // those that are there. Undefined where the part is empty.
  Result<MetricValue> ComputeMetric(Model& model, FullInference& inference, graph::SplitPartName part,
                                    const std::string& tensor);
  // Returns the number of rows that AddPart counts for `part`; 0 where the part cannot be read.
  uint64_t CountRows(graph::SplitPartName part) const;
  // At a pass's end, when every rank has ended its reads, or has failed.
  Status Drop();

 private:
  // Edges of a part in the user's order; all vectors have one entry an edge.
  struct Chunk {
    std::vector<GlobalNodeId> sources, destinations;
    std::vector<uint32_t> relations;
    std::vector<int64_t> source_ids, destination_ids;  // original ids
    size_t size() const { return sources.size(); }
  };
  using SourceAndRelation = std::pair<int64_t, uint32_t>;  // original id

  Status StoreEmbeddings(Model& model, FullInference& inference, const std::string& tensor);
  Result<uint64_t> CountEdges(graph::SplitPartName part) const;
  // Returns the number of candidate rows that an edge of `relation` is scored against.
  uint64_t RowsPerEdge(uint32_t relation) const;
  Status CheckScores(graph::SplitPartName part);
  Status AddPart(graph::SplitPartName part, const std::string& tensor, MetricAccumulator& metric);
  Result<Chunk> ReadEdges(graph::SplitPartName part, uint64_t chunk, uint64_t chunk_size);
  // Of nodes of one type; of nodes[i] of types[i].
  Result<torch::Tensor> Embeddings(const std::string& tensor, NodeTypeId type, std::span<const GlobalNodeId> nodes);
  Result<torch::Tensor> Embeddings(const std::string& tensor, std::span<const NodeTypeId> types,
                                   std::span<const GlobalNodeId> nodes);
  Result<std::vector<int64_t>> OriginalIds(std::span<const NodeTypeId> types, std::span<const GlobalNodeId> nodes);
  std::vector<NodeTypeId> TypesOfEnds(std::span<const NodeTypeId> of_relation, const Chunk& edges) const;

  // Ranks among all nodes of the destinations' types, in the chunk's order.
  Result<std::vector<double>> RanksAmongAll(const Chunk& edges, const std::string& tensor);
  // Those of the edges with these numbers, which all lead to one node type: into ranks[number].
  Status RankAmongAll(const Chunk& edges, std::vector<uint32_t> numbers, const std::string& tensor,
                      std::vector<double>& ranks);
  // Calls body(first, rows) for each block of a type's nodes by original id that holds one of `wanted` (ascending
  // original ids), or for every block.
  Status ForBlocks(const std::string& tensor, NodeTypeId type, std::optional<std::span<const int64_t>> wanted,
                   const std::function<Status(int64_t first, const torch::Tensor& rows)>& body);
  // Scores [n, 1 + candidates], the edge's own first, and likewise what counts: 0 where a candidate does not.
  Status AddDrawn(uint64_t chunk, uint64_t first_ordinal, graph::SplitPartName part, const Chunk& edges,
                  const std::string& tensor, MetricAccumulator& metric);

  // The destinations of every (source, relation) that is measured, from all parts of the split.
  Status LearnKnownEdges();
  // Original ids that are no candidates of edge i, ascending: its destination, and, filtered, what is known.
  std::vector<int64_t> ListExcludedCandidates(const Chunk& edges, size_t i) const;
  bool IsSymmetric(uint32_t relation) const {
    return options_.types[relation].reverse_type == options_.types[relation].edge_type;
  }

  GraphAccess graph_;
  const NodeData& data_;
  collective::Collective& collective_;
  const LinkEvaluationOptions options_;
  const std::shared_ptr<const LinkScorer> scorer_;
  std::vector<NodeTypeId> source_types_, destination_types_;  // by relation
  std::string stored_;                                        // the tensor that keeps embeddings; empty: none does
  bool knows_edges_ = false;
  absl::flat_hash_map<SourceAndRelation, std::vector<int64_t>> known_;  // destinations, ascending, each once
};

}  // namespace espalier::trainer
