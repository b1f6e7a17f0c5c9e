// Conversion of a step's seeds to and from the messages of GraphStore. Pure functions.
#pragma once

#include <vector>

#include "espalier/graph/v1/graph.pb.h"
#include "services/graph/partition_book.h"
#include "services/messages/service_limits.h"
#include "services/rpc/frame.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::messages {

grpc::ByteBuffer EncodeSeedsRequest(const sampler::SeedQuery& query, const tensor::v1::RequestIdentity& identity);
// Returns the query. Untrusted input: InvalidArgument if the request is invalid, ResourceExhausted if it exceeds the
// limits.
Result<sampler::SeedQuery> DecodeSeedsRequest(const rpc::Frame<graph::v1::SeedsOfStepRequest>& frame,
                                              const ServiceLimits& limits);

// Returns the tensors of the response to `query`, in the order that the message documents.
std::vector<Tensor> EncodeSeedsReply(const sampler::SeedQuery& query, const sampler::PartitionSeeds& seeds);
// Returns the seeds; InvalidArgument if the response does not match the query or contains nodes or edges that do not
// exist. If the query has several edge types, an id is checked only against the largest bound of these types.
Result<sampler::PartitionSeeds> DecodeSeedsReply(const grpc::ByteBuffer& reply, const sampler::SeedQuery& query,
                                                 const graph::PartitionBook& book);

}  // namespace espalier::messages
