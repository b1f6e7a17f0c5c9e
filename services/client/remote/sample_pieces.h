// Splits the query of a hop into pieces and assembles their samples. Pure functions. The sample of a destination does
// not depend on the other destinations of a request, so the result does not depend on where a query is split.
#pragma once

#include <vector>

#include "services/messages/hop_messages.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::client {

using messages::SamplePiece;
using messages::SampleSpan;

// Returns pieces in the order of the query, at least one. The estimated response to a piece has at most `reply_bytes`,
// unless the piece has a single destination.
std::vector<SamplePiece> SplitIntoPieces(const sampler::PartitionHopQuery& query, size_t reply_bytes);
// Returns the two halves, in the order of the query, of a piece that the server has refused as too large. Returns an
// empty vector if halving would not help: the piece has one destination, or neither the size of its response nor the
// work for it depends on in-degrees.
std::vector<SamplePiece> SplitInHalves(const sampler::PartitionHopQuery& query, const SamplePiece& piece);

// Returns the sample of the complete query. samples[i] are the samples of the spans of pieces[i].
sampler::PartitionHopSample Assemble(const sampler::PartitionHopQuery& query, const std::vector<SamplePiece>& pieces,
                                     std::vector<std::vector<sampler::PartitionRelationSample>> samples);

}  // namespace espalier::client
