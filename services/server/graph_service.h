// The gRPC service GraphStore: the structure, columns and splits of one partition.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "espalier/graph/v1/graph.grpc.pb.h"
#include "services/sampler/access/partition_access.h"
#include "services/sampler/routing/partitioned_graph.h"
#include "services/server/framed_call.h"

namespace espalier::server {

// What Describe returns, except for the partition key, the id of the partition and the incarnation, which come from the
// RequestGate (request_gate.h).
struct ServedGraph {
  std::string name;
  sampler::GraphDescription description;
  std::optional<graph::v1::MappedFiles> mapped_files;  // absent: clients cannot map the files
  std::string machine = {};                            // the host of this server (rpc/machine.h); empty: unknown
  std::vector<std::string> warnings = {};              // from the partitioning's manifest (format::Manifest)
};

namespace internal {
// All methods except Describe are raw: their messages are frames, not protobuf.
using S = graph::v1::GraphStore;
using WithGather = S::WithRawCallbackMethod_GatherRows<S::WithCallbackMethod_Describe<S::Service>>;
using WithSampling = S::WithRawCallbackMethod_InSubgraph<S::WithRawCallbackMethod_SampleNeighbors<WithGather>>;
using WithNodes = S::WithRawCallbackMethod_LookUp<S::WithRawCallbackMethod_SeedsOfStep<WithSampling>>;
using WithEdges = S::WithRawCallbackMethod_GatherEdgeRows<S::WithRawCallbackMethod_FindEdges<WithNodes>>;
using RawGraphStore = S::WithRawCallbackMethod_InDegrees<WithEdges>;
}  // namespace internal

// The methods are documented in proto/espalier/graph/v1/graph.proto. Thread-safe.
class GraphService final : public internal::RawGraphStore {
 public:
  GraphService(ServedGraph served, std::shared_ptr<sampler::PartitionAccess> partition, const ServiceContext& context);

  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const graph::v1::DescribeRequest*,
                                     graph::v1::DescribeResponse* response) override;
  grpc::ServerUnaryReactor* SampleNeighbors(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                            grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* InSubgraph(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* GatherRows(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* SeedsOfStep(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* LookUp(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* InDegrees(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* FindEdges(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* GatherEdgeRows(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* reply) override;

 private:
  graph::v1::DescribeResponse description_;  // complete except for the incarnation
  const std::shared_ptr<sampler::PartitionAccess> partition_;
  const ServiceContext context_;
};

}  // namespace espalier::server
