// Encodes and decodes the requests of one hop to one partition, and their responses, as messages of the gRPC service
// GraphStore. Pure functions.
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
using SamplePiece = std::vector<SampleSpan>;  // the part of a query that one request contains

// Returns whether `query` excludes edges of a relation of `piece` from sampling.
bool HasExclusions(const sampler::PartitionHopQuery& query, const SamplePiece& piece);

// Returns the request for the destinations of `piece`.
grpc::ByteBuffer EncodeHopRequest(const sampler::PartitionHopQuery& query, const SamplePiece& piece,
                                  const tensor::v1::RequestIdentity& identity);
// Returns the query of a request. Untrusted input: InvalidArgument if the request is invalid, ResourceExhausted if it
// exceeds the limits.
Result<sampler::PartitionHopQuery> DecodeHopRequest(const rpc::Frame<graph::v1::SampleNeighborsRequest>& frame,
                                                    const ServiceLimits& limits);
// Returns the query for the full neighborhoods of the requested destinations. Untrusted input, with the same errors.
Result<sampler::PartitionHopQuery> DecodeHopRequest(const rpc::Frame<graph::v1::InSubgraphRequest>& frame,
                                                    const ServiceLimits& limits);

// Returns the response's tensors: counts, sources and edge ids of each relation in turn.
std::vector<Tensor> EncodeHopReply(const sampler::PartitionHopSample& sample);
// Returns the samples of the piece's spans. InvalidArgument if the response does not match the request or contains
// nodes or edges that do not exist; Unimplemented if the server does not support the draw method of `query`.
Result<std::vector<sampler::PartitionRelationSample>> DecodeHopReply(const grpc::ByteBuffer& reply,
                                                                     const sampler::PartitionHopQuery& query,
                                                                     const SamplePiece& piece,
                                                                     const graph::PartitionBook& book);

}  // namespace espalier::messages
