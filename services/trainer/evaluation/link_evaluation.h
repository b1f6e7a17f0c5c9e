// Evaluates how a model ranks the edges of a split's part: for each edge, the rank of its destination among candidate
// destinations of the same source under the same edge type.
//
// Embeddings come from full-neighborhood inference over the graph without held-out edges (graph/preprocess.h), so that
// the model does not see the measured edges. The embeddings are stored on the owners of the nodes (StoredEmbeddings).
// Edges are processed in the user's order, type after type, in chunks of fixed size; of T trainers, trainer c mod T
// processes chunk c. Hence a metric does not depend on the partitioning or the number of trainers.
//
// The candidates are all nodes of the destination's type, or `num_candidates` nodes that are drawn for each edge and
// are the same in every evaluation (RandomPurpose::kCandidates). The destination itself is not a candidate. The
// filtered setting (Bordes et al., NIPS 2013) also excludes each node to which the source has an edge of the same type
// in any part of the split. If the edges of a type are symmetric (LinkType::reverse_type is the type itself), it also
// excludes each node that has such an edge to the source.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/sampler/seeds/edge_exclusions.h"
#include "services/trainer/evaluation/stored_embeddings.h"
#include "services/trainer/evaluation/task_evaluation.h"
#include "services/trainer/model/link_scorer.h"

namespace espalier::trainer {

struct LinkEvaluationOptions {
  job::Metric metric = job::Metric::kMrr;
  std::string split;
  std::vector<sampler::LinkType> types;  // as in LinkPlan; types[r] is relation r of the scorer
  uint32_t num_candidates = 0;           // per edge; 0: all nodes
  bool filtered = true;
  int64_t k = 10;               // of HitsAtK
  uint64_t seed = 0;            // of the drawn candidates
  uint64_t chunk_nodes = 4096;  // embeddings read and scored at once, if num_candidates is 0
  Timeouts timeouts;
  std::function<Status()> before_chunk = {};  // as in InferenceOptions
  PhaseTracker phases = {};                   // counts the rows read to score edges
};

class LinkEvaluation final : public TaskEvaluation {
 public:
  // `data`, `collective` and the objects of `graph` outlive this. `scorer` is a submodule of the model.
  LinkEvaluation(GraphAccess graph, const NodeData& data, collective::Collective& collective,
                 LinkEvaluationOptions options, std::shared_ptr<const LinkScorer> scorer);

  // The metric is undefined if the part is empty. inference.ComputeHidden must have been called. Stores the embeddings
  // if none are stored yet; they stay until Drop. ResourceExhausted if the area under the ROC curve needs too many
  // scores.
  Result<MetricValue> ComputeMetric(Model& model, FullInference& inference, graph::SplitPartName part,
                                    TensorNames& names) override;
  // The count includes the rows of the last layer, which is computed for all nodes of the seed types (the types of the
  // edges' endpoints).
  uint64_t CountRows(std::span<const graph::SplitPartName> parts) const override;
  Status Drop(std::chrono::seconds patience) override { return embeddings_.Drop(patience); }

 private:
  // Edges of a part in the user's order; each vector has one entry per edge.
  struct Chunk {
    std::vector<GlobalNodeId> sources, destinations;
    std::vector<uint32_t> relations;
    std::vector<int64_t> source_ids, destination_ids;  // original ids
    size_t size() const { return sources.size(); }
  };
  using SourceAndRelation = std::pair<int64_t, uint32_t>;  // original id of the source, relation

  Result<uint64_t> CountEdges(graph::SplitPartName part) const;
  // Returns the sum of CountRowsPerEdge over the edges of a part. An edge type whose edges cannot be counted adds
  // nothing.
  uint64_t CountScoredRows(graph::SplitPartName part) const;
  // Returns the number of rows that are read per edge of `relation`, as an estimate of the work.
  uint64_t CountRowsPerEdge(uint32_t relation) const;
  // Returns ResourceExhausted, on every rank, if the metric is ROCAUC and the part has too many scores.
  Status CheckScores(graph::SplitPartName part);
  // Adds this rank's chunks of a part to the metric.
  Status AddPart(graph::SplitPartName part, MetricAccumulator& metric);
  Result<Chunk> ReadEdges(graph::SplitPartName part, uint64_t chunk, uint64_t chunk_size);
  // Returns the stored embeddings of nodes[i] of type types[i], f32 [nodes, D], on the model's device.
  Result<torch::Tensor> ReadEmbeddings(std::span<const NodeTypeId> types, std::span<const GlobalNodeId> nodes);
  Result<std::vector<int64_t>> ReadOriginalIds(std::span<const NodeTypeId> types, std::span<const GlobalNodeId> nodes);
  std::vector<NodeTypeId> ListEndpointTypes(std::span<const NodeTypeId> types_by_relation, const Chunk& edges) const;

  // Returns the rank of each edge among all nodes of its destination's type, in the chunk's order.
  Result<std::vector<double>> ComputeRanksAmongAll(const Chunk& edges);
  // Sets ranks[i] for each i in `order`, which contains indices of edges whose destinations have the same node type.
  Status RankAmongAll(const Chunk& edges, std::vector<uint32_t> order, std::vector<double>& ranks);
  // Calls body(first, rows) for blocks of chunk_nodes consecutive original ids of a type: for each block that contains
  // an id in `wanted` (ascending) or, without `wanted`, for every block. `rows` are the embeddings of a block, whose
  // first id is `first`.
  Status ForBlocks(NodeTypeId type, std::optional<std::span<const int64_t>> wanted,
                   const std::function<Status(int64_t first, const torch::Tensor& rows)>& body);
  // Draws the candidates of each edge, computes the scores of the destination and the candidates, [n, 1 + candidates],
  // and adds the ranks or scores to the metric. `first_ordinal` is the position of the chunk's first edge within the
  // part.
  Status AddDrawn(uint64_t chunk, uint64_t first_ordinal, graph::SplitPartName part, const Chunk& edges,
                  MetricAccumulator& metric);

  // Fills known_ for every (source, relation) of the validation and test parts, from the edges of all parts of the
  // split.
  Status ReadKnownEdges();
  // Returns the original ids that are not candidates of edge i, ascending: its destination and, in the filtered
  // setting, all known destinations.
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
  StoredEmbeddings embeddings_;
  torch::Device device_ = torch::kCPU;  // the model's device, where embeddings are scored
  bool has_read_known_edges_ = false;
  absl::flat_hash_map<SourceAndRelation, std::vector<int64_t>> known_;  // destination ids, ascending, unique
};

}  // namespace espalier::trainer
