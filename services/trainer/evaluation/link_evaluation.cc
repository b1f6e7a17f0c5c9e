// The first ComputeMetric stores the embeddings, which stay until Drop. With drawn candidates, AddDrawn gathers the
// embeddings of a chunk's edges and candidates and scores them together. Without drawn candidates, ComputeRanksAmongAll
// reads the embeddings of all nodes block by block for a chunk of edges and keeps only the counts of higher and equal
// scores (RankCounter). Excluded candidates are scored with the other candidates and only then left out, so that the
// matrix products stay dense. For the filtered setting, every rank reads all edges of the split before the first
// metric: known_ contains the destinations of each (source, relation) that occurs in the validation or test part.
#include "services/trainer/evaluation/link_evaluation.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "services/base/random_purpose.h"
#include "services/sampler/seeds/negatives.h"
#include "services/trainer/evaluation/ranking.h"
#include "services/trainer/model/torch_error.h"

namespace espalier::trainer {
namespace {

using graph::SplitPartName;

constexpr SplitPartName kParts[] = {SplitPartName::kTrain, SplitPartName::kValidation, SplitPartName::kTest};
constexpr uint64_t kEdgesPerRead = uint64_t{1} << 16;
// Number of edges per chunk if edges are ranked among all nodes. For each chunk, the embeddings of all nodes are read
// up to twice.
constexpr uint64_t kEdgesPerChunkAmongAll = 2048;
// Number of edges whose scores are computed in one matrix product.
constexpr int64_t kEdgesPerProduct = 256;
// Limit for the number of scores of a chunk with drawn candidates, 4 bytes each. A chunk has at least one edge, even if
// that exceeds the limit.
constexpr uint64_t kScoresPerChunk = uint64_t{1} << 18;
// Limit for the number of scores of ROCAUC, which needs all scores at once on every rank: 12 bytes each, and a copy to
// sort.
constexpr uint64_t kMaxScoresPerArea = uint64_t{1} << 26;

// Returns the number of edges per chunk. It affects results, because sums are taken chunk by chunk, so it depends only
// on the document.
uint64_t ChunkSize(uint32_t num_candidates) {
  if (num_candidates == 0) return kEdgesPerChunkAmongAll;
  return std::clamp<uint64_t>(kScoresPerChunk / (uint64_t{num_candidates} + 1), 1, 1024);
}

// The nodes of one type in a list of nodes of several types, with their positions in the list.
template <class Id>
struct TypeSlice {
  std::vector<Id> nodes;
  std::vector<int64_t> places;
};

// Calls body(type, slice) for each of the types in ascending order.
template <class Id, class Body>
Status ForEachType(std::span<const NodeTypeId> types, std::span<const Id> nodes, const Body& body) {
  std::map<NodeTypeId, TypeSlice<Id>> slices;
  for (size_t i = 0; i < nodes.size(); ++i) {
    TypeSlice<Id>& slice = slices[types[i]];
    slice.nodes.push_back(nodes[i]);
    slice.places.push_back(static_cast<int64_t>(i));
  }
  for (const auto& [type, slice] : slices) RETURN_IF_ERROR(body(type, slice));
  return Status();
}

torch::Tensor ToPlaces(const TypeSlice<GlobalNodeId>& slice) { return torch::tensor(slice.places, torch::kInt64); }

std::span<const float> GetRow(const torch::Tensor& scores, int64_t row) {
  const auto columns = static_cast<size_t>(scores.size(1));
  return {scores.data_ptr<float>() + static_cast<size_t>(row) * columns, columns};
}

}  // namespace

LinkEvaluation::LinkEvaluation(GraphAccess graph, const NodeData& data, collective::Collective& collective,
                               LinkEvaluationOptions options, std::shared_ptr<const LinkScorer> scorer)
    : graph_(graph),
      data_(data),
      collective_(collective),
      options_(std::move(options)),
      scorer_(std::move(scorer)),
      embeddings_(graph, data, collective, options_.timeouts) {
  for (const sampler::LinkType& type : options_.types) {
    source_types_.push_back(graph_.schema().SourceOf(type.edge_type));
    destination_types_.push_back(graph_.schema().DestinationOf(type.edge_type));
  }
}

Result<MetricValue> LinkEvaluation::ComputeMetric(Model& model, FullInference& inference, SplitPartName part,
                                                  TensorNames& names) {
  // The name is taken before any operation that may fail, so that names do not depend on errors.
  const std::string tensor = names.Next() + "-embeddings";
  if (options_.filtered && !has_read_known_edges_) {
    RETURN_IF_ERROR(collective::AgreeOn(ReadKnownEdges(), collective_, options_.timeouts.collective));
    has_read_known_edges_ = true;
  }
  RETURN_IF_ERROR(CheckScores(part));
  device_ = model.device();
  MetricAccumulator metric(options_.metric, 1);
  RETURN_IF_ERROR(embeddings_.Store(model, inference, tensor).While("computing embeddings"));
  RETURN_IF_ERROR(
      collective::AgreeOn(AddPart(part, metric), collective_, options_.timeouts.collective).While("ranking edges"));
  RETURN_IF_ERROR(metric.MergeOverRanks(collective_, options_.timeouts.ForCollective()));
  return metric.ValueOrReason();
}

Status LinkEvaluation::CheckScores(SplitPartName part) {
  if (options_.metric != job::Metric::kRocAuc) return Status();
  ASSIGN_OR_RETURN(const uint64_t count, CountEdges(part));
  const uint64_t most = kMaxScoresPerArea / (uint64_t{options_.num_candidates} + 1);
  if (count <= most) return Status();
  return ResourceExhausted("ROCAUC of " + std::to_string(count) + " edges with " +
                           std::to_string(options_.num_candidates) + " candidates each takes more than " +
                           std::to_string(kMaxScoresPerArea) +
                           " scores at once: lower spec.training.evaluation.candidates, or choose MRR");
}

Result<torch::Tensor> LinkEvaluation::ReadEmbeddings(std::span<const NodeTypeId> types,
                                                     std::span<const GlobalNodeId> nodes) {
  torch::Tensor rows = torch::empty({static_cast<int64_t>(nodes.size()), data_.num_outputs()});
  RETURN_IF_ERROR(ForEachType(types, nodes, [&](NodeTypeId type, const TypeSlice<GlobalNodeId>& slice) -> Status {
    ASSIGN_OR_RETURN(const torch::Tensor of_type, embeddings_.Read(type, slice.nodes));
    if (slice.nodes.size() == nodes.size()) {
      rows = of_type;
    } else {
      rows.index_copy_(0, ToPlaces(slice), of_type);
    }
    return Status();
  }));
  return rows.to(device_);
}

Result<std::vector<int64_t>> LinkEvaluation::ReadOriginalIds(std::span<const NodeTypeId> types,
                                                             std::span<const GlobalNodeId> nodes) {
  std::vector<int64_t> originals(nodes.size());
  RETURN_IF_ERROR(ForEachType(types, nodes, [&](NodeTypeId type, const TypeSlice<GlobalNodeId>& slice) -> Status {
    ASSIGN_OR_RETURN(const torch::Tensor ids, data_.OriginalIds(type, slice.nodes, options_.timeouts.ForData()));
    for (size_t i = 0; i < slice.places.size(); ++i) {
      originals[static_cast<size_t>(slice.places[i])] = ids.data_ptr<int64_t>()[i];
    }
    return Status();
  }));
  return originals;
}

std::vector<NodeTypeId> LinkEvaluation::ListEndpointTypes(std::span<const NodeTypeId> types_by_relation,
                                                          const Chunk& edges) const {
  std::vector<NodeTypeId> types;
  types.reserve(edges.size());
  for (const uint32_t relation : edges.relations) types.push_back(types_by_relation[relation]);
  return types;
}

// Ranking among all nodes reads every candidate up to twice per chunk of kEdgesPerChunkAmongAll edges.
uint64_t LinkEvaluation::CountRowsPerEdge(uint32_t relation) const {
  if (options_.num_candidates > 0) return 1 + uint64_t{options_.num_candidates};
  return 1 + 2 * graph_.neighbors.book().num_nodes(destination_types_[relation]) / kEdgesPerChunkAmongAll;
}

uint64_t LinkEvaluation::CountRows(std::span<const SplitPartName> parts) const {
  uint64_t rows = embeddings_.CountRows();
  for (const SplitPartName part : parts) rows += CountScoredRows(part);
  return rows;
}

uint64_t LinkEvaluation::CountScoredRows(SplitPartName part) const {
  uint64_t rows = 0;
  for (uint32_t relation = 0; relation < options_.types.size(); ++relation) {
    const Result<uint64_t> count = graph_.seeds.CountOfEdges(options_.types[relation].edge_type, options_.split, part);
    if (count.ok()) rows += *count * CountRowsPerEdge(relation);
  }
  return rows;
}

Result<uint64_t> LinkEvaluation::CountEdges(SplitPartName part) const {
  uint64_t total = 0;
  for (const sampler::LinkType& type : options_.types) {
    ASSIGN_OR_RETURN(const uint64_t count, graph_.seeds.CountOfEdges(type.edge_type, options_.split, part));
    total += count;
  }
  return total;
}

Result<LinkEvaluation::Chunk> LinkEvaluation::ReadEdges(SplitPartName part, uint64_t chunk, uint64_t chunk_size) {
  sampler::SeedQuery query{.split = options_.split,
                           .part = part,
                           .shuffle = false,
                           .step = static_cast<uint32_t>(chunk),
                           .batch_size = chunk_size};
  for (const sampler::LinkType& type : options_.types) query.edge_types.push_back(type.edge_type);
  ASSIGN_OR_RETURN(sampler::GlobalBatch batch, graph_.seeds.SeedsOfStep(query, options_.timeouts.ForData()));
  Chunk edges{.sources = std::move(batch.sources),
              .destinations = std::move(batch.seeds),
              .relations = {batch.types.begin(), batch.types.end()},
              .source_ids = {},
              .destination_ids = {}};
  ASSIGN_OR_RETURN(edges.source_ids, ReadOriginalIds(ListEndpointTypes(source_types_, edges), edges.sources));
  ASSIGN_OR_RETURN(edges.destination_ids,
                   ReadOriginalIds(ListEndpointTypes(destination_types_, edges), edges.destinations));
  return edges;
}

Status LinkEvaluation::ReadKnownEdges() {
  const auto for_edges = [&](SplitPartName part, const std::function<void(const Chunk&, size_t)>& body) -> Status {
    ASSIGN_OR_RETURN(const uint64_t count, CountEdges(part));
    for (uint64_t chunk = 0; chunk * kEdgesPerRead < count; ++chunk) {
      if (options_.before_chunk) RETURN_IF_ERROR(options_.before_chunk());
      ASSIGN_OR_RETURN(const Chunk edges, ReadEdges(part, chunk, kEdgesPerRead));
      for (size_t i = 0; i < edges.size(); ++i) body(edges, i);
    }
    return Status();
  };
  known_.clear();
  for (const SplitPartName measured : {SplitPartName::kValidation, SplitPartName::kTest}) {
    RETURN_IF_ERROR(for_edges(measured, [&](const Chunk& edges, size_t i) {
      known_.try_emplace({edges.source_ids[i], edges.relations[i]});
    }));
  }
  const auto add_known = [&](int64_t source, uint32_t relation, int64_t destination) {
    const auto found = known_.find({source, relation});
    if (found != known_.end()) found->second.push_back(destination);
  };
  for (const SplitPartName part : kParts) {
    RETURN_IF_ERROR(for_edges(part, [&](const Chunk& edges, size_t i) {
      add_known(edges.source_ids[i], edges.relations[i], edges.destination_ids[i]);
      if (IsSymmetric(edges.relations[i])) add_known(edges.destination_ids[i], edges.relations[i], edges.source_ids[i]);
    }));
  }
  for (auto& [source, destinations] : known_) {
    std::sort(destinations.begin(), destinations.end());
    destinations.erase(std::unique(destinations.begin(), destinations.end()), destinations.end());
  }
  return Status();
}

std::vector<int64_t> LinkEvaluation::ListExcludedCandidates(const Chunk& edges, size_t i) const {
  const int64_t own = edges.destination_ids[i];
  if (!options_.filtered) return {own};
  const auto found = known_.find({edges.source_ids[i], edges.relations[i]});
  if (found == known_.end()) return {own};
  std::vector<int64_t> excluded = found->second;
  const auto at = std::lower_bound(excluded.begin(), excluded.end(), own);
  if (at == excluded.end() || *at != own) excluded.insert(at, own);
  return excluded;
}

Status LinkEvaluation::AddPart(SplitPartName part, MetricAccumulator& metric) {
  ASSIGN_OR_RETURN(const uint64_t count, CountEdges(part));
  const uint64_t chunk_size = ChunkSize(options_.num_candidates);
  for (uint64_t chunk = collective_.rank().value; chunk * chunk_size < count; chunk += collective_.size()) {
    if (options_.before_chunk) RETURN_IF_ERROR(options_.before_chunk());
    ASSIGN_OR_RETURN(const Chunk edges, ReadEdges(part, chunk, chunk_size));
    try {
      const torch::NoGradGuard no_gradients;
      if (options_.num_candidates > 0) {
        RETURN_IF_ERROR(AddDrawn(chunk, chunk * chunk_size, part, edges, metric));
      } else {
        ASSIGN_OR_RETURN(const std::vector<double> ranks, ComputeRanksAmongAll(edges));
        metric.AddRanks(chunk, ranks, options_.k);
      }
    } catch (const std::exception& error) {  // for example c10::Error if memory is exhausted
      return FromTorchError(error);
    }
    // Each other rank scores one chunk in the same time.
    uint64_t rows = 0;
    for (const uint32_t relation : edges.relations) rows += CountRowsPerEdge(relation);
    options_.phases.Add(collective_.size() * rows);
  }
  return Status();
}

Status LinkEvaluation::ForBlocks(NodeTypeId type, std::optional<std::span<const int64_t>> wanted,
                                 const std::function<Status(int64_t first, const torch::Tensor& rows)>& body) {
  const uint64_t num_nodes = graph_.neighbors.book().num_nodes(type);
  for (uint64_t first = 0; first < num_nodes; first += options_.chunk_nodes) {
    const uint64_t end = std::min(num_nodes, first + options_.chunk_nodes);
    if (wanted.has_value()) {
      const auto next = std::lower_bound(wanted->begin(), wanted->end(), static_cast<int64_t>(first));
      if (next == wanted->end()) break;
      if (*next >= static_cast<int64_t>(end)) continue;
    }
    if (options_.before_chunk) RETURN_IF_ERROR(options_.before_chunk());  // all blocks together may take minutes
    std::vector<OriginalNodeId> originals;
    for (uint64_t id = first; id < end; ++id) originals.emplace_back(id);
    ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> nodes,
                     graph_.seeds.ToGlobalIds(type, originals, options_.timeouts.ForData()));
    ASSIGN_OR_RETURN(const torch::Tensor rows, embeddings_.Read(type, nodes));
    RETURN_IF_ERROR(body(static_cast<int64_t>(first), rows.to(device_)));
  }
  return Status();
}

Result<std::vector<double>> LinkEvaluation::ComputeRanksAmongAll(const Chunk& edges) {
  std::map<NodeTypeId, std::vector<uint32_t>> edges_of_type;  // by destination type
  for (uint32_t i = 0; i < edges.size(); ++i) edges_of_type[destination_types_[edges.relations[i]]].push_back(i);
  std::vector<double> ranks(edges.size());
  for (auto& [type, of_type] : edges_of_type) RETURN_IF_ERROR(RankAmongAll(edges, std::move(of_type), ranks));
  return ranks;
}

// Iterates over blocks of nodes twice. The first iteration reads the blocks that contain destinations and finds the
// score of each edge's own destination; the second reads all blocks and compares this score to the scores of all
// candidates. Both compute scores with the same matrix products, because a score computed in another way would be
// rounded differently. Edges are sorted by destination, so that a block needs few products in the first iteration.
Status LinkEvaluation::RankAmongAll(const Chunk& edges, std::vector<uint32_t> order, std::vector<double>& ranks) {
  const NodeTypeId type = destination_types_[edges.relations[order.front()]];
  const auto num_edges = static_cast<int64_t>(order.size());
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return edges.destination_ids[a] < edges.destination_ids[b]; });
  std::vector<GlobalNodeId> sources;
  std::vector<NodeTypeId> source_types;
  std::vector<uint32_t> relations;
  std::vector<int64_t> destinations;  // ascending
  std::vector<std::vector<int64_t>> excluded;
  for (const uint32_t i : order) {
    sources.push_back(edges.sources[i]);
    source_types.push_back(source_types_[edges.relations[i]]);
    relations.push_back(edges.relations[i]);
    destinations.push_back(edges.destination_ids[i]);
    excluded.push_back(ListExcludedCandidates(edges, i));
  }
  ASSIGN_OR_RETURN(const torch::Tensor embeddings, ReadEmbeddings(source_types, sources));
  const torch::Tensor queries = scorer_->MakeQueries(embeddings, relations);
  const auto scores_of = [&](int64_t first_edge, const torch::Tensor& rows) {
    return scorer_->ScoreAll(queries.narrow(0, first_edge, std::min(kEdgesPerProduct, num_edges - first_edge)), rows)
        .contiguous()
        .cpu();
  };

  std::vector<RankCounter> counters;
  size_t next = 0;  // the first edge whose own score is not known yet
  RETURN_IF_ERROR(ForBlocks(type, std::span<const int64_t>(destinations), [&](int64_t first, const auto& rows) {
    const int64_t end = first + rows.size(0);
    while (next < destinations.size() && destinations[next] < end) {
      const int64_t first_edge = static_cast<int64_t>(next) / kEdgesPerProduct * kEdgesPerProduct;
      const torch::Tensor scores = scores_of(first_edge, rows);
      const auto last_edge = static_cast<size_t>(first_edge + scores.size(0));
      for (; next < last_edge && destinations[next] < end; ++next) {
        counters.emplace_back(
            GetRow(scores, static_cast<int64_t>(next) - first_edge)[static_cast<size_t>(destinations[next] - first)]);
      }
    }
    return Status();
  }));
  if (counters.size() != order.size()) return Internal("an edge's destination is not a node");

  RETURN_IF_ERROR(ForBlocks(type, std::nullopt, [&](int64_t first, const auto& rows) {
    const int64_t end = first + rows.size(0);
    for (int64_t first_edge = 0; first_edge < num_edges; first_edge += kEdgesPerProduct) {
      const torch::Tensor scores = scores_of(first_edge, rows);
      for (int64_t row = 0; row < scores.size(0); ++row) {
        const auto edge = static_cast<size_t>(first_edge + row);
        const std::span<const float> candidates = GetRow(scores, row);
        counters[edge].Add(candidates);
        const std::vector<int64_t>& ids = excluded[edge];
        for (auto id = std::lower_bound(ids.begin(), ids.end(), first); id != ids.end() && *id < end; ++id) {
          counters[edge].Remove(candidates[static_cast<size_t>(*id - first)]);
        }
      }
    }
    return Status();
  }));
  for (size_t i = 0; i < order.size(); ++i) ranks[order[i]] = counters[i].Rank();
  return Status();
}

Status LinkEvaluation::AddDrawn(uint64_t chunk, uint64_t first_ordinal, SplitPartName part, const Chunk& edges,
                                MetricAccumulator& metric) {
  const uint64_t key = RandomKey(options_.seed, RandomPurpose::kCandidates, static_cast<uint32_t>(part));
  const uint32_t columns = 1 + options_.num_candidates;
  // Each source is repeated for the edge itself and for each candidate, so that all scores are computed in the same
  // way.
  std::vector<GlobalNodeId> left;
  std::vector<uint32_t> relations;
  std::vector<OriginalNodeId> right;
  std::vector<NodeTypeId> left_types, right_types;
  std::vector<uint8_t> is_candidate;  // 1 also for the destination itself
  for (size_t i = 0; i < edges.size(); ++i) {
    left.insert(left.end(), columns, edges.sources[i]);
    relations.insert(relations.end(), columns, edges.relations[i]);
    left_types.insert(left_types.end(), columns, source_types_[edges.relations[i]]);
    const NodeTypeId type = destination_types_[edges.relations[i]];
    right_types.insert(right_types.end(), columns, type);
    const uint64_t num_nodes = graph_.neighbors.book().num_nodes(type);
    right.emplace_back(static_cast<uint64_t>(edges.destination_ids[i]));
    is_candidate.push_back(1);
    const std::vector<int64_t> excluded = ListExcludedCandidates(edges, i);
    for (const uint64_t node : sampler::DrawNodes(key, first_ordinal + i, num_nodes, options_.num_candidates)) {
      right.emplace_back(node);
      is_candidate.push_back(std::binary_search(excluded.begin(), excluded.end(), static_cast<int64_t>(node)) ? 0 : 1);
    }
  }
  std::vector<GlobalNodeId> nodes(right.size());
  const auto to_global_ids = [&](NodeTypeId type, const TypeSlice<OriginalNodeId>& slice) -> Status {
    ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> found,
                     graph_.seeds.ToGlobalIds(type, slice.nodes, options_.timeouts.ForData()));
    for (size_t i = 0; i < found.size(); ++i) nodes[static_cast<size_t>(slice.places[i])] = found[i];
    return Status();
  };
  RETURN_IF_ERROR(ForEachType(right_types, std::span<const OriginalNodeId>(right), to_global_ids));
  ASSIGN_OR_RETURN(const torch::Tensor sources, ReadEmbeddings(left_types, left));
  ASSIGN_OR_RETURN(const torch::Tensor destinations, ReadEmbeddings(right_types, nodes));
  const torch::Tensor scores =
      scorer_->Score(scorer_->MakeQueries(sources, relations), destinations).contiguous().cpu();
  if (options_.metric == job::Metric::kRocAuc) {
    torch::Tensor labels = torch::zeros_like(scores);
    for (size_t i = 0; i < is_candidate.size(); ++i) {
      if (i % columns == 0) {
        labels.data_ptr<float>()[i] = 1;
      } else if (is_candidate[i] == 0) {
        labels.data_ptr<float>()[i] = std::numeric_limits<float>::quiet_NaN();
      }
    }
    metric.Add(chunk, scores.reshape({-1, 1}), labels.reshape({-1, 1}));
    return Status();
  }
  std::vector<double> ranks;
  const torch::Tensor rows = scores.view({-1, int64_t{columns}});
  for (size_t i = 0; i < edges.size(); ++i) {
    const std::span<const float> row = GetRow(rows, static_cast<int64_t>(i));
    ranks.push_back(
        ComputeRank(row[0], row.subspan(1), std::span(is_candidate).subspan(i * columns + 1, options_.num_candidates)));
  }
  metric.AddRanks(chunk, ranks, options_.k);
  return Status();
}

}  // namespace espalier::trainer
