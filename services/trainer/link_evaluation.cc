#include "services/trainer/link_evaluation.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "services/base/random_purpose.h"
#include "services/sampler/negatives.h"
#include "services/trainer/parameters.h"
#include "services/trainer/ranking.h"

namespace espalier::trainer {
namespace {

using graph::SplitPartName;

constexpr SplitPartName kParts[] = {SplitPartName::kTrain, SplitPartName::kValidation, SplitPartName::kTest};
constexpr uint64_t kEdgesPerRead = uint64_t{1} << 16;
// Scores of a chunk, 4 bytes each; distances need as many again for each number of an embedding.
constexpr uint64_t kScoresPerChunk = uint64_t{1} << 18;

// Results depend on it only where sums are taken in chunks: a function of the graph and the document.
uint64_t ChunkSize(uint64_t candidates_each) {
  return std::clamp<uint64_t>(kScoresPerChunk / (candidates_each + 1), 1, 1024);
}

}  // namespace

LinkEvaluation::LinkEvaluation(GraphAccess graph, const NodeData& data, collective::Collective& collective,
                               LinkEvaluationOptions options, std::shared_ptr<const LinkScorer> scorer)
    : graph_(graph), data_(data), collective_(collective), options_(std::move(options)), scorer_(std::move(scorer)) {}

Result<std::optional<double>> LinkEvaluation::MetricOf(Model& model, FullInference& inference, SplitPartName part,
                                                       const std::string& tensor) {
  if (options_.filtered && !knows_edges_) {
    RETURN_IF_ERROR(collective::AgreeOn(LearnKnownEdges(), collective_, options_.timeouts.ForCollective()));
    knows_edges_ = true;
  }
  MetricAccumulator metric(options_.metric, 1);
  Status ranked = StoreEmbeddings(model, inference, tensor).While("computing embeddings");
  if (ranked.ok()) {
    ranked = collective::AgreeOn(AddPart(part, tensor, metric), collective_, options_.timeouts.ForCollective())
                 .While("ranking edges");
  }
  // Nobody reads any more once all have agreed, whatever on.
  const Status dropped = DropEmbeddings(tensor);
  RETURN_IF_ERROR(ranked);
  RETURN_IF_ERROR(collective::AgreeOn(dropped, collective_, options_.timeouts.ForCollective()));
  RETURN_IF_ERROR(metric.MergeOverRanks(collective_, options_.timeouts.ForCollective()));
  const Result<double> value = metric.Value();
  if (value.ok()) return std::optional<double>(*value);
  if (value.status().code() == StatusCode::kFailedPrecondition) return std::optional<double>();
  return value.status();
}

Status LinkEvaluation::StoreEmbeddings(Model& model, FullInference& inference, const std::string& tensor) {
  const NodeTypeId type = data_.seed_type();
  const Status created =
      graph_.tensors.CreateTensor(type, tensor, DType::kF32, {data_.num_outputs()}, options_.timeouts.ForData());
  RETURN_IF_ERROR(collective::AgreeOn(created, collective_, options_.timeouts.ForCollective()));
  return inference.ForAllNodes(model, [&](uint64_t, auto nodes, const torch::Tensor& outputs) {
    return LostWhereMissing(
        graph_.tensors.WriteRows(type, tensor, nodes, FromTorch(outputs), options_.timeouts.ForData()));
  });
}

Status LinkEvaluation::DropEmbeddings(const std::string& tensor) {
  if (collective_.rank() != Rank(0)) return Status();
  return graph_.tensors.DropTensor(data_.seed_type(), tensor, options_.timeouts.ForData());
}

Result<torch::Tensor> LinkEvaluation::Embeddings(const std::string& tensor, std::span<const GlobalNodeId> nodes) {
  Result<torch::Tensor> rows = data_.Column(data_.seed_type(), tensor, nodes, options_.timeouts.ForData());
  if (!rows.ok()) return LostWhereMissing(std::move(rows).status());
  return rows;
}

Result<LinkEvaluation::Chunk> LinkEvaluation::EdgesOf(SplitPartName part, uint64_t chunk, uint64_t chunk_size) {
  sampler::SeedQuery query{.split = options_.split,
                           .part = part,
                           .shuffle = false,
                           .step = static_cast<uint32_t>(chunk),
                           .batch_size = chunk_size};
  query.edge_type = options_.edge_type;
  ASSIGN_OR_RETURN(sampler::GlobalBatch batch, graph_.seeds.SeedsOfStep(query, options_.timeouts.ForData()));
  return Chunk{std::move(batch.sources), std::move(batch.seeds)};
}

Status LinkEvaluation::LearnKnownEdges() {
  const auto for_edges = [&](SplitPartName part, const std::function<void(const Chunk&)>& body) -> Status {
    ASSIGN_OR_RETURN(const uint64_t count, graph_.seeds.CountOfEdges(options_.edge_type, options_.split, part));
    for (uint64_t chunk = 0; chunk * kEdgesPerRead < count; ++chunk) {
      ASSIGN_OR_RETURN(const Chunk edges, EdgesOf(part, chunk, kEdgesPerRead));
      body(edges);
    }
    return Status();
  };
  for (const SplitPartName measured : {SplitPartName::kValidation, SplitPartName::kTest}) {
    RETURN_IF_ERROR(for_edges(measured, [&](const Chunk& edges) {
      for (const GlobalNodeId source : edges.sources) known_.try_emplace(source.value);
    }));
  }
  for (const SplitPartName part : kParts) {
    RETURN_IF_ERROR(for_edges(part, [&](const Chunk& edges) {
      for (size_t i = 0; i < edges.sources.size(); ++i) {
        const auto found = known_.find(edges.sources[i].value);
        if (found != known_.end()) found->second.push_back(edges.destinations[i].value);
      }
    }));
  }
  for (auto& [source, destinations] : known_) {
    std::sort(destinations.begin(), destinations.end());
    destinations.erase(std::unique(destinations.begin(), destinations.end()), destinations.end());
  }
  return Status();
}

bool LinkEvaluation::IsKnown(GlobalNodeId source, GlobalNodeId destination) const {
  const auto found = known_.find(source.value);
  return found != known_.end() && std::binary_search(found->second.begin(), found->second.end(), destination.value);
}

Status LinkEvaluation::AddPart(SplitPartName part, const std::string& tensor, MetricAccumulator& metric) {
  ASSIGN_OR_RETURN(const uint64_t count, graph_.seeds.CountOfEdges(options_.edge_type, options_.split, part));
  const uint64_t candidates_each = options_.num_candidates == 0 ? graph_.neighbors.book().num_nodes(data_.seed_type())
                                                                : uint64_t{options_.num_candidates};
  const uint64_t chunk_size = ChunkSize(candidates_each);
  for (uint64_t chunk = collective_.rank().value; chunk * chunk_size < count; chunk += collective_.size()) {
    ASSIGN_OR_RETURN(const Chunk edges, EdgesOf(part, chunk, chunk_size));
    RETURN_IF_ERROR(AddChunk(chunk, chunk * chunk_size, part, edges, tensor, metric));
  }
  return Status();
}

Status LinkEvaluation::AddChunk(uint64_t chunk, uint64_t first_ordinal, SplitPartName part, const Chunk& edges,
                                const std::string& tensor, MetricAccumulator& metric) {
  torch::Tensor scores;
  std::vector<uint8_t> counts;
  try {
    const torch::NoGradGuard no_gradients;
    RETURN_IF_ERROR(options_.num_candidates == 0
                        ? ScoreAgainstAll(edges, tensor, &scores, &counts)
                        : ScoreAgainstDrawn(first_ordinal, part, edges, tensor, &scores, &counts));
    scores = scores.contiguous();
    if (options_.metric == job::Metric::kRocAuc) {
      torch::Tensor labels = torch::zeros_like(scores);
      for (int64_t i = 0; i < labels.numel(); ++i) {
        if (i % labels.size(1) == 0) {
          labels.data_ptr<float>()[i] = 1;
        } else if (counts[static_cast<size_t>(i)] == 0) {
          labels.data_ptr<float>()[i] = std::numeric_limits<float>::quiet_NaN();
        }
      }
      metric.Add(chunk, scores.reshape({-1, 1}), labels.reshape({-1, 1}));
      return Status();
    }
  } catch (const std::exception& error) {  // torch, out of memory for one
    return Internal(error.what());
  }
  const auto columns = static_cast<size_t>(scores.size(1));
  std::vector<double> ranks;
  for (size_t i = 0; i < edges.sources.size(); ++i) {
    const std::span<const float> row(scores.data_ptr<float>() + i * columns, columns);
    ranks.push_back(RankOf(row[0], row.subspan(1), std::span(counts).subspan(i * columns + 1, columns - 1)));
  }
  metric.AddRanks(chunk, ranks, options_.k);
  return Status();
}

void LinkEvaluation::Filter(const Chunk& edges, std::span<const GlobalNodeId> candidates, size_t candidates_each,
                            std::vector<uint8_t>* counts) const {
  const size_t columns = 1 + candidates_each;
  counts->assign(edges.sources.size() * columns, 1);
  const bool shared = candidates.size() == candidates_each && edges.sources.size() != 1;
  for (size_t i = 0; i < edges.sources.size(); ++i) {
    for (size_t k = 0; k < candidates_each; ++k) {
      const GlobalNodeId candidate = candidates[shared ? k : i * candidates_each + k];
      const bool out =
          candidate == edges.destinations[i] || (options_.filtered && IsKnown(edges.sources[i], candidate));
      if (out) (*counts)[i * columns + 1 + k] = 0;
    }
  }
}

Status LinkEvaluation::ScoreAgainstAll(const Chunk& edges, const std::string& tensor, torch::Tensor* scores,
                                       std::vector<uint8_t>* counts) {
  const NodeTypeId type = data_.seed_type();
  const uint64_t num_nodes = graph_.neighbors.book().num_nodes(type);
  ASSIGN_OR_RETURN(const torch::Tensor sources, Embeddings(tensor, edges.sources));
  std::vector<torch::Tensor> blocks;
  std::vector<GlobalNodeId> candidates;
  for (uint64_t first = 0; first < num_nodes; first += options_.chunk_nodes) {
    std::vector<OriginalNodeId> originals;
    for (uint64_t id = first; id < std::min(num_nodes, first + options_.chunk_nodes); ++id) originals.emplace_back(id);
    ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> nodes,
                     graph_.seeds.LookUp(type, originals, options_.timeouts.ForData()));
    ASSIGN_OR_RETURN(const torch::Tensor rows, Embeddings(tensor, nodes));
    blocks.push_back(scorer_->ScoreAll(sources, rows));
    candidates.insert(candidates.end(), nodes.begin(), nodes.end());
  }
  // The edge's own score is the one among all: another way to compute it would round it in another way.
  absl::flat_hash_map<uint64_t, int64_t> column_of;
  for (size_t c = 0; c < candidates.size(); ++c) column_of[candidates[c].value] = static_cast<int64_t>(c);
  torch::Tensor own = torch::empty({static_cast<int64_t>(edges.destinations.size()), 1}, torch::kInt64);
  for (size_t i = 0; i < edges.destinations.size(); ++i) {
    own.data_ptr<int64_t>()[i] = column_of.at(edges.destinations[i].value);
  }
  const torch::Tensor all = torch::cat(blocks, 1);
  *scores = torch::cat({all.gather(1, own), all}, 1);
  Filter(edges, candidates, candidates.size(), counts);
  return Status();
}

Status LinkEvaluation::ScoreAgainstDrawn(uint64_t first_ordinal, SplitPartName part, const Chunk& edges,
                                         const std::string& tensor, torch::Tensor* scores,
                                         std::vector<uint8_t>* counts) {
  const NodeTypeId type = data_.seed_type();
  const uint64_t num_nodes = graph_.neighbors.book().num_nodes(type);
  const uint64_t key = RandomKey(options_.seed, RandomPurpose::kCandidates, static_cast<uint32_t>(part));
  std::vector<OriginalNodeId> originals;
  for (uint64_t i = 0; i < edges.sources.size(); ++i) {
    for (const uint64_t node : sampler::DrawNodes(key, first_ordinal + i, num_nodes, options_.num_candidates)) {
      originals.emplace_back(node);
    }
  }
  ASSIGN_OR_RETURN(const std::vector<GlobalNodeId> candidates,
                   graph_.seeds.LookUp(type, originals, options_.timeouts.ForData()));
  // Sources stand once for the edge itself and once for each candidate: all are scored in the same way.
  std::vector<GlobalNodeId> left, right;
  for (size_t i = 0; i < edges.sources.size(); ++i) {
    left.insert(left.end(), 1 + options_.num_candidates, edges.sources[i]);
    right.push_back(edges.destinations[i]);
    const auto first = candidates.begin() + static_cast<std::ptrdiff_t>(i * options_.num_candidates);
    right.insert(right.end(), first, first + options_.num_candidates);
  }
  ASSIGN_OR_RETURN(const torch::Tensor sources, Embeddings(tensor, left));
  ASSIGN_OR_RETURN(const torch::Tensor destinations, Embeddings(tensor, right));
  *scores = scorer_->Score(sources, destinations)
                .view({static_cast<int64_t>(edges.sources.size()), 1 + int64_t{options_.num_candidates}});
  Filter(edges, candidates, options_.num_candidates, counts);
  return Status();
}

}  // namespace espalier::trainer
