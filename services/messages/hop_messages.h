// A hop's question to a partition and its answer in the messages of GraphStore, both ways. Pure.
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
using SamplePiece = std::vector<SampleSpan>;  // what one request asks for

bool HasExclusions(const sampler::PartitionHopQuery& query, const SamplePiece& piece);

// The frame that asks for a piece.
grpc::ByteBuffer EncodeHopRequest(const sampler::PartitionHopQuery& query, const SamplePiece& piece,
                                  const tensor::v1::RequestIdentity& identity);
// The piece as a query of its own. Untrusted input.
Result<sampler::PartitionHopQuery> DecodeHopRequest(const rpc::Frame<graph::v1::SampleNeighborsRequest>& frame,
                                                    const ServiceLimits& limits);
// The full neighborhood of the requested destinations. Untrusted input.
Result<sampler::PartitionHopQuery> DecodeHopRequest(const rpc::Frame<graph::v1::InSubgraphRequest>& frame,
                                                    const ServiceLimits& limits);

// Counts, sources and edge ids of each relation, one after another.
std::vector<Tensor> EncodeHopReply(const sampler::PartitionHopSample& sample);
// The spans' samples; InvalidArgument where the reply does not fit the question or names nodes that do not exist.
Result<std::vector<sampler::PartitionRelationSample>> DecodeHopReply(const grpc::ByteBuffer& reply,
                                                                     const sampler::PartitionHopQuery& query,
                                                                     const SamplePiece& piece,
                                                                     const graph::PartitionBook& book);

}  // namespace espalier::messages
