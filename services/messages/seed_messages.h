// A step's seeds in the messages of GraphStore, both ways. Pure.
#pragma once

#include <vector>

#include "espalier/graph/v1/graph.pb.h"
#include "services/graph/partition_book.h"
#include "services/messages/service_limits.h"
#include "services/rpc/frame.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::messages {

grpc::ByteBuffer EncodeSeedsRequest(const sampler::SeedQuery& query, const tensor::v1::RequestIdentity& identity);
// Untrusted input.
Result<sampler::SeedQuery> DecodeSeedsRequest(const rpc::Frame<graph::v1::SeedsOfStepRequest>& frame,
                                              const ServiceLimits& limits);

// The tensors of the answer to `query`, in the order of the message.
std::vector<Tensor> EncodeSeedsReply(const sampler::SeedQuery& query, const sampler::PartitionSeeds& seeds);
// InvalidArgument where the reply does not fit the query or names nodes or edges that do not exist.
Result<sampler::PartitionSeeds> DecodeSeedsReply(const grpc::ByteBuffer& reply, const sampler::SeedQuery& query,
                                                 const graph::PartitionBook& book);

}  // namespace espalier::messages
