// Requests of GraphStore as the values that a PartitionAccess takes. Pure; untrusted input.
#pragma once

#include "espalier/graph/v1/graph.pb.h"
#include "services/rpc/frame.h"
#include "services/sampler/access/partition_access.h"
#include "services/sampler/routing/partitioned_graph.h"
#include "services/server/limits.h"

namespace espalier::server {

Result<sampler::PartitionHopQuery> HopQueryOf(const rpc::Frame<graph::v1::SampleNeighborsRequest>& frame,
                                              const ServiceLimits& limits);
// The full neighbourhood of the requested destinations.
Result<sampler::PartitionHopQuery> HopQueryOf(const rpc::Frame<graph::v1::InSubgraphRequest>& frame,
                                              const ServiceLimits& limits);
Result<sampler::SeedQuery> SeedQueryOf(const rpc::Frame<graph::v1::SeedsOfStepRequest>& frame,
                                       const ServiceLimits& limits);

// Counts, sources and edge ids of each relation, one after another.
std::vector<Tensor> TensorsOf(const sampler::PartitionHopSample& sample);

// InvalidArgument for a method that does not exist.
Result<sampler::DrawMethod> DrawMethodOf(graph::v1::DrawMethod method);

// Types are numbers of 16 bits in the process and of 32 on the wire.
Result<NodeTypeId> NodeTypeOf(uint32_t number);
Result<EdgeTypeId> EdgeTypeOf(uint32_t number);

// What Describe says of a graph.
void DescribeGraph(const sampler::GraphDescription& description, graph::v1::DescribeResponse* response);

}  // namespace espalier::server
