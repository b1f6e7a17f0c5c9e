#include "services/client/remote/sample_pieces.h"

#include <algorithm>
#include <numeric>

#include "services/client/remote/wire_ids.h"

namespace espalier::client {
namespace {

// In-degrees are not known here; this is what "all" is taken for when pieces are cut. LABOR looks at all in-edges to
// draw a few: its pieces are cut by the work.
constexpr uint64_t kAssumedDegree = 64;

uint64_t BytesPerDestination(const sampler::PartitionHopQuery& query, size_t relation) {
  const int32_t fanout = query.relations[relation].fanout;
  uint64_t edges = fanout > 0 ? static_cast<uint64_t>(fanout) : kAssumedDegree;
  if (query.draw.method == sampler::DrawMethod::kLabor) edges = std::max(edges, kAssumedDegree);
  return sizeof(uint32_t) * (1 + edges * (query.want_edge_ids ? 2 : 1));
}

// Walks come with all relations of a query or with none (sampler::CheckDrawRule).
bool HasWalks(const sampler::PartitionHopQuery& query) {
  return std::any_of(query.relations.begin(), query.relations.end(),
                     [](const sampler::PartitionRelationQuery& relation) { return !relation.walks.empty(); });
}

bool HasExclusions(const sampler::PartitionHopQuery& query, const SamplePiece& piece) {
  return std::any_of(piece.begin(), piece.end(),
                     [&](const SampleSpan& span) { return !query.relations[span.relation].excluded_sources.empty(); });
}

// In-degrees say how large the answer is, or how much work it takes: nobody here knows them.
bool DependsOnDegrees(const sampler::PartitionHopQuery& query, const SamplePiece& piece) {
  const auto draws_all = [&](const SampleSpan& span) {
    return query.relations[span.relation].fanout == sampler::kFullNeighborhood;
  };
  return query.draw.method == sampler::DrawMethod::kLabor || HasExclusions(query, piece) ||
         std::any_of(piece.begin(), piece.end(), draws_all);
}

template <class T>
Tensor SliceOf(const std::vector<T>& values, const SampleSpan& span) {
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(span.begin);
  return Tensor::FromVector(std::vector<T>(first, first + static_cast<std::ptrdiff_t>(span.end - span.begin)));
}

Status CheckSample(const sampler::PartitionRelationSample& sample, EdgeTypeId type, size_t destinations,
                   bool want_edge_ids, const graph::PartitionBook& book) {
  if (sample.counts.dtype() != DType::kU32 || static_cast<size_t>(sample.counts.num_elements()) != destinations) {
    return InvalidArgument("the server's counts are " + sample.counts.ToString() + ", expected U32 [" +
                           std::to_string(destinations) + "]");
  }
  const auto counts = sample.counts.values<uint32_t>();
  const uint64_t drawn = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  RETURN_IF_ERROR(CheckIds(sample.sources, drawn, book.num_nodes(book.schema().SourceOf(type)), "source ids"));
  return CheckIds(sample.edge_ids, want_edge_ids ? drawn : 0, book.num_edges(type), "edge ids");
}

}  // namespace

graph::v1::DrawMethod DrawMethodMessageOf(sampler::DrawMethod method) {
  switch (method) {
    case sampler::DrawMethod::kNeighbor: return graph::v1::DRAW_METHOD_NEIGHBOR;
    case sampler::DrawMethod::kLabor: return graph::v1::DRAW_METHOD_LABOR;
    case sampler::DrawMethod::kLast: return graph::v1::DRAW_METHOD_LAST;
  }
  return graph::v1::DRAW_METHOD_UNSPECIFIED;
}

std::vector<SamplePiece> PiecesOf(const sampler::PartitionHopQuery& query, size_t reply_bytes) {
  std::vector<SamplePiece> pieces(1);
  uint64_t room = reply_bytes;
  for (size_t r = 0; r < query.relations.size(); ++r) {
    const size_t count = query.relations[r].destinations.size();
    const uint64_t bytes_each = BytesPerDestination(query, r);
    size_t begin = 0;
    do {  // a relation without destinations still gets its (empty) answer
      if (room < bytes_each && !pieces.back().empty()) {
        pieces.emplace_back();
        room = reply_bytes;
      }
      const size_t fitting = static_cast<size_t>(std::max<uint64_t>(1, room / bytes_each));
      const size_t end = std::min(count, begin + fitting);
      pieces.back().push_back({r, begin, end});
      room -= std::min<uint64_t>(room, (end - begin) * bytes_each);
      begin = end;
    } while (begin < count);
  }
  return pieces;
}

std::vector<SamplePiece> HalvesOf(const sampler::PartitionHopQuery& query, const SamplePiece& piece) {
  size_t num_destinations = 0;
  for (const SampleSpan& span : piece) num_destinations += span.end - span.begin;
  if (num_destinations <= 1 || !DependsOnDegrees(query, piece)) return {};
  std::vector<SamplePiece> halves(2);
  size_t room = num_destinations / 2;  // of the first
  for (const SampleSpan& span : piece) {
    const size_t middle = std::min(span.end, span.begin + room);
    room -= middle - span.begin;
    const bool is_in_first = middle > span.begin || span.begin == span.end;  // one without destinations is in one
    if (is_in_first) halves[0].push_back({span.relation, span.begin, middle});
    if (middle < span.end) halves[1].push_back({span.relation, middle, span.end});
  }
  return halves;
}

grpc::ByteBuffer EncodePiece(const sampler::PartitionHopQuery& query, const SamplePiece& piece,
                             const tensor::v1::RequestIdentity& identity) {
  graph::v1::SampleNeighborsRequest request;
  *request.mutable_identity() = identity;
  request.set_seed(query.seed);
  request.set_epoch(query.at.epoch);
  request.set_step(query.at.step);
  request.set_hop(query.at.hop);
  request.set_replace(query.draw.replace);
  request.set_weight_column(query.draw.weight_column);
  request.set_want_edge_ids(query.want_edge_ids);
  request.set_method(DrawMethodMessageOf(query.draw.method));
  request.set_layer_dependency(query.draw.layer_dependency);
  request.set_time_column(query.draw.time_column);
  request.set_has_walks(HasWalks(query));
  request.set_has_exclusions(HasExclusions(query, piece));
  std::vector<Tensor> tensors;
  for (const SampleSpan& span : piece) {
    const sampler::PartitionRelationQuery& relation = query.relations[span.relation];
    graph::v1::RelationQuery* asked = request.add_relations();
    asked->set_edge_type(relation.edge_type.value);
    asked->set_fanout(relation.fanout);
    const std::span<const LocalNodeId> nodes(relation.destinations);
    tensors.push_back(LocalIdTensor(nodes.subspan(span.begin, span.end - span.begin)));
    if (!query.draw.time_column.empty()) tensors.push_back(SliceOf(relation.times, span));
    if (request.has_walks()) tensors.push_back(SliceOf(relation.walks, span));
    if (!request.has_exclusions()) continue;
    tensors.push_back(LocalIdTensor(std::span<const LocalNodeId>(relation.excluded_destinations)));
    tensors.push_back(WideIdTensor(std::span<const GlobalNodeId>(relation.excluded_sources)));
  }
  return rpc::EncodeFrame(std::move(request), tensors);
}

Result<std::vector<sampler::PartitionRelationSample>> DecodePiece(const grpc::ByteBuffer& reply,
                                                                  const sampler::PartitionHopQuery& query,
                                                                  const SamplePiece& piece,
                                                                  const graph::PartitionBook& book) {
  ASSIGN_OR_RETURN(rpc::Frame<graph::v1::SampleNeighborsResponse> frame,
                   rpc::DecodeFrame<graph::v1::SampleNeighborsResponse>(reply));
  if (frame.tensors.size() != 3 * piece.size()) {
    return InvalidArgument("the server's reply has " + std::to_string(frame.tensors.size()) + " tensors, expected " +
                           std::to_string(3 * piece.size()));
  }
  const bool is_by_method = query.draw.method == sampler::DrawMethod::kNeighbor ||
                            frame.header.method() == DrawMethodMessageOf(query.draw.method);
  if (!is_by_method) {
    return Unimplemented(
        "the server does not know the draw method that it was asked for: servers and clients have to "
        "be of one version");
  }
  std::vector<sampler::PartitionRelationSample> samples;
  for (size_t i = 0; i < piece.size(); ++i) {
    samples.push_back({frame.tensors[3 * i], frame.tensors[3 * i + 1], frame.tensors[3 * i + 2]});
    RETURN_IF_ERROR(CheckSample(samples.back(), query.relations[piece[i].relation].edge_type,
                                piece[i].end - piece[i].begin, query.want_edge_ids, book));
  }
  return samples;
}

sampler::PartitionHopSample Assemble(const sampler::PartitionHopQuery& query, const std::vector<SamplePiece>& pieces,
                                     std::vector<std::vector<sampler::PartitionRelationSample>> samples) {
  struct Parts {
    std::vector<Tensor> counts, sources, edge_ids;
  };
  std::vector<Parts> parts(query.relations.size());
  for (size_t p = 0; p < pieces.size(); ++p) {
    for (size_t i = 0; i < pieces[p].size(); ++i) {
      Parts& of_relation = parts[pieces[p][i].relation];
      of_relation.counts.push_back(std::move(samples[p][i].counts));
      of_relation.sources.push_back(std::move(samples[p][i].sources));
      of_relation.edge_ids.push_back(std::move(samples[p][i].edge_ids));
    }
  }
  sampler::PartitionHopSample whole;
  for (const Parts& of_relation : parts) {
    whole.relations.push_back({ConcatenateIds(of_relation.counts), ConcatenateIds(of_relation.sources),
                               ConcatenateIds(of_relation.edge_ids)});
  }
  return whole;
}

}  // namespace espalier::client
