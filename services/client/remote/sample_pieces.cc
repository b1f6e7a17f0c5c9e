// The size of a response depends on in-degrees, which the client does not know. SplitIntoPieces fills each piece until
// the estimated size of its response reaches the limit. If the server refuses a piece (ResourceExhausted),
// SplitInHalves divides its destinations in two; the caller repeats this until the pieces are small enough. Assemble
// concatenates the tensors of each relation in the order of the pieces, which is the order of the query.
#include "services/client/remote/sample_pieces.h"

#include <algorithm>

#include "services/messages/wire_ids.h"

namespace espalier::client {
namespace {

// In-degree that is assumed if a destination's full neighborhood is requested. With LABOR, the larger of this number
// and the fan-out is assumed: LABOR reads all in-edges of a destination to sample a few, and the server limits how many
// it reads for one request.
constexpr uint64_t kAssumedDegree = 64;

// Returns the estimated size of the response for one destination of a relation.
uint64_t EstimateBytesPerDestination(const sampler::PartitionHopQuery& query, size_t relation) {
  const int32_t fanout = query.relations[relation].fanout;
  uint64_t edges = fanout > 0 ? static_cast<uint64_t>(fanout) : kAssumedDegree;
  if (query.draw.method == sampler::DrawMethod::kLabor) edges = std::max(edges, kAssumedDegree);
  return sizeof(uint32_t) * (1 + edges * (query.want_edge_ids ? 2 : 1));
}

// Returns whether in-degrees determine the size of the response to a piece, or the work for it.
bool DependsOnDegrees(const sampler::PartitionHopQuery& query, const SamplePiece& piece) {
  const auto draws_all = [&](const SampleSpan& span) {
    return query.relations[span.relation].fanout == sampler::kFullNeighborhood;
  };
  return query.draw.method == sampler::DrawMethod::kLabor || messages::HasExclusions(query, piece) ||
         std::any_of(piece.begin(), piece.end(), draws_all);
}

}  // namespace

std::vector<SamplePiece> SplitIntoPieces(const sampler::PartitionHopQuery& query, size_t reply_bytes) {
  std::vector<SamplePiece> pieces(1);
  uint64_t room = reply_bytes;
  for (size_t r = 0; r < query.relations.size(); ++r) {
    const size_t count = query.relations[r].destinations.size();
    const uint64_t bytes_each = EstimateBytesPerDestination(query, r);
    size_t begin = 0;
    do {  // also for a relation without destinations, which must get an empty sample
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

std::vector<SamplePiece> SplitInHalves(const sampler::PartitionHopQuery& query, const SamplePiece& piece) {
  size_t num_destinations = 0;
  for (const SampleSpan& span : piece) num_destinations += span.end - span.begin;
  if (num_destinations <= 1 || !DependsOnDegrees(query, piece)) return {};
  std::vector<SamplePiece> halves(2);
  size_t room = num_destinations / 2;  // of the first half
  for (const SampleSpan& span : piece) {
    const size_t middle = std::min(span.end, span.begin + room);
    room -= middle - span.begin;
    const bool is_in_first = middle > span.begin || span.begin == span.end;  // an empty span is in the first half
    if (is_in_first) halves[0].push_back({span.relation, span.begin, middle});
    if (middle < span.end) halves[1].push_back({span.relation, middle, span.end});
  }
  return halves;
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
  sampler::PartitionHopSample sample;
  for (const Parts& of_relation : parts) {
    sample.relations.push_back({messages::ConcatenateIds(of_relation.counts),
                                messages::ConcatenateIds(of_relation.sources),
                                messages::ConcatenateIds(of_relation.edge_ids)});
  }
  return sample;
}

}  // namespace espalier::client
