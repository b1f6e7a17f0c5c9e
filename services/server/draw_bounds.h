// How much a stream's batches may draw, by its fan-outs alone: what is absurd is refused before any work.
#pragma once

#include "services/graph/partition_book.h"
#include "services/messages/stream_messages.h"
#include "services/server/limits.h"

namespace espalier::server {

// The most edges that one rank's share of a batch can draw: nodes times fan-out, layer after layer. Without
// replacement a relation gives at most its edges once; full neighbourhoods are not counted, the graph bounds them.
uint64_t MostDrawsOf(const messages::StreamPlan& stream, const graph::PartitionBook& book);
// ResourceExhausted where that is more than limits.max_draws_per_batch.
Status CheckDraws(const messages::StreamPlan& stream, const graph::PartitionBook& book, const ServiceLimits& limits);

}  // namespace espalier::server
