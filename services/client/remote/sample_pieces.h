// A hop's question in pieces and its answer put together again. Pure: what a destination draws depends on nothing
// but itself, so where the question is cut does not matter.
#pragma once

#include <vector>

#include "services/messages/hop_messages.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::client {

using messages::SamplePiece;
using messages::SampleSpan;

// Pieces of at most about `reply_bytes` of answer each, in the query's order; at least one.
std::vector<SamplePiece> SplitIntoPieces(const sampler::PartitionHopQuery& query, size_t reply_bytes);
// The two halves of a piece that turned out to be more than the server answers at once, in the query's order. None
// where halves would do no better: it has one destination, or its size does not depend on in-degrees.
std::vector<SamplePiece> SplitInHalves(const sampler::PartitionHopQuery& query, const SamplePiece& piece);

// samples[i] belongs to pieces[i].
sampler::PartitionHopSample Assemble(const sampler::PartitionHopQuery& query, const std::vector<SamplePiece>& pieces,
                                     std::vector<std::vector<sampler::PartitionRelationSample>> samples);

}  // namespace espalier::client
