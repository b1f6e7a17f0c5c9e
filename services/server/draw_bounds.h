// Bounds the number of edges that a mini-batch of a stream samples, from the stream's options and the graph's size
// alone, so that absurd requests are refused before any work.
#pragma once

#include "services/graph/partition_book.h"
#include "services/messages/stream_messages.h"
#include "services/server/limits.h"

namespace espalier::server {

// Returns an upper bound of the edges in all layers of one rank's share of a batch: nodes times fan-out, layer by
// layer. With Expand::kOnce only new nodes are expanded, and a layer also contains the edges that earlier hops sampled.
// Without replacement and without temporal sampling, a layer contains each edge of the graph at most once. Full
// neighborhoods and the nodes that they add are not counted: before sampling, their only bound is the whole graph, and
// counting that would refuse usual streams of a large graph. SamplingSpec::max_edges limits them during sampling.
uint64_t MaxDraws(const messages::StreamPlan& stream, const graph::PartitionBook& book);
// Returns ResourceExhausted if MaxDraws is more than limits.max_draws_per_batch.
Status CheckDraws(const messages::StreamPlan& stream, const graph::PartitionBook& book, const ServiceLimits& limits);

}  // namespace espalier::server
