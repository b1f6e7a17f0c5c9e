// Conversion of a hop's request to a partition, and of the response, to and from the messages of GraphStore. Pure.
#pragma once

#include <vector>

#include "espalier/graph/v1/graph.pb.h"
#include "services/graph/partition_book.h"
#include "services/messages/service_limits.h"
#include "services/rpc/frame.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::messages {

// Destinations [begin, end) of one relation of a query.
struct SampleSpan {
  size_t relation = 0;
  size_t begin = 0;
  size_t end = 0;
};
using SamplePiece = std::vector<SampleSpan>;  // the destinations of one request

// Returns whether `query` excludes edges into destinations of the piece.
bool HasExclusions(const sampler::PartitionHopQuery& query, const SamplePiece& piece);

// Returns the request for a piece.
grpc::ByteBuffer EncodeHopRequest(const sampler::PartitionHopQuery& query, const SamplePiece& piece,
                                  const tensor::v1::RequestIdentity& identity);
// Returns the requested piece as a query. Untrusted input: InvalidArgument or ResourceExhausted if it is invalid or
// exceeds the limits.
Result<sampler::PartitionHopQuery> DecodeHopRequest(const rpc::Frame<graph::v1::SampleNeighborsRequest>& frame,
                                                    const ServiceLimits& limits);
// Returns the query for the full neighborhood of the requested destinations. Untrusted input.
Result<sampler::PartitionHopQuery> DecodeHopRequest(const rpc::Frame<graph::v1::InSubgraphRequest>& frame,
                                                    const ServiceLimits& limits);

// Returns the response's tensors: counts, sources and edge ids of each relation in turn.
std::vector<Tensor> EncodeHopReply(const sampler::PartitionHopSample& sample);
// Returns the samples of the piece's spans; InvalidArgument if the response does not match the request or contains
// nodes that do not exist.
Result<std::vector<sampler::PartitionRelationSample>> DecodeHopReply(const grpc::ByteBuffer& reply,
                                                                     const sampler::PartitionHopQuery& query,
                                                                     const SamplePiece& piece,
                                                                     const graph::PartitionBook& book);

}  // namespace espalier::messages
