// Each method except Describe decodes its request on a worker (HandleFramed), calls the partition, and passes it a
// callback that encodes the result and finishes the call. The callback also keeps the arrays of the request that the
// partition reads later.
#include "services/server/graph_service.h"

#include <utility>

#include "services/messages/hop_messages.h"
#include "services/messages/request_tensors.h"
#include "services/messages/seed_messages.h"
#include "services/messages/wire_ids.h"
#include "services/rpc/status_map.h"
#include "services/server/describe_graph.h"
#include "services/server/row_reply.h"

namespace espalier::server {
namespace {

using Call = std::shared_ptr<FramedCall>;

// Returns a callback that finishes the call with the tensors that `encode` makes from the result, or with its error.
template <class Response, class T, class Encode>
std::function<void(Result<T>)> Answer(Call call, Encode encode) {
  return [call = std::move(call), encode = std::move(encode)](Result<T> result) {
    if (!result.ok()) return call->Finish(result.status());
    call->FinishWith(Response(), encode(*result));
  };
}

// Returns a callback that finishes the call with the resulting tensor. The callback keeps `request_ids`, which owns the
// memory of the requested ids.
template <class Response, class Held>
std::function<void(Result<Tensor>)> AnswerTensor(Call call, Held request_ids) {
  return Answer<Response, Tensor>(
      std::move(call), [held = std::move(request_ids)](const Tensor& tensor) { return std::vector<Tensor>{tensor}; });
}

// Converts I64 endpoints of edges to U32 if all of them fit; otherwise returns `ends`.
Tensor NarrowEndpoints(const Tensor& ends) {
  for (const int64_t id : ends.values<int64_t>()) {
    if (id < 0 || id > int64_t{0xffffffff}) return ends;
  }
  std::vector<uint32_t> narrow(ends.values<int64_t>().begin(), ends.values<int64_t>().end());
  return Tensor::FromVector(std::move(narrow), ends.shape());
}

}  // namespace

GraphService::GraphService(ServedGraph served, std::shared_ptr<sampler::PartitionAccess> partition,
                           const ServiceContext& context)
    : partition_(std::move(partition)), context_(context) {
  description_.set_partition_key(context_.gate->partition_key());
  description_.set_partition(context_.gate->partition().value);
  description_.set_graph_name(served.name);
  description_.set_machine(served.machine);
  description_.mutable_warnings()->Assign(served.warnings.begin(), served.warnings.end());
  DescribeGraph(served.description, &description_);
  if (served.mapped_files) *description_.mutable_mapped_files() = *served.mapped_files;
}

grpc::ServerUnaryReactor* GraphService::Describe(grpc::CallbackServerContext* context,
                                                 const graph::v1::DescribeRequest* request,
                                                 graph::v1::DescribeResponse* response) {
  *response = description_;
  response->set_incarnation(context_.gate->NewestIncarnation(request->job()));
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* GraphService::SampleNeighbors(grpc::CallbackServerContext* context,
                                                        const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  using Request = graph::v1::SampleNeighborsRequest;
  return HandleFramed<Request>(
      context_, "SampleNeighbors", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        ASSIGN_OR_RETURN(sampler::PartitionHopQuery query, messages::DecodeHopRequest(frame, call->limits()));
        const graph::v1::DrawMethod method = frame.header.method();
        partition_->SampleInEdges(std::move(query), call->deadline(),
                                  [call, method](const Result<sampler::PartitionHopSample>& sample) {
                                    if (!sample.ok()) return call->Finish(sample.status());
                                    graph::v1::SampleNeighborsResponse response;
                                    response.set_method(method);
                                    call->FinishWith(std::move(response), messages::EncodeHopReply(*sample));
                                  });
        return Status();
      });
}

grpc::ServerUnaryReactor* GraphService::InSubgraph(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  using Request = graph::v1::InSubgraphRequest;
  return HandleFramed<Request>(
      context_, "InSubgraph", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        ASSIGN_OR_RETURN(sampler::PartitionHopQuery query, messages::DecodeHopRequest(frame, call->limits()));
        partition_->SampleInEdges(
            std::move(query), call->deadline(),
            Answer<graph::v1::SampleNeighborsResponse, sampler::PartitionHopSample>(call, messages::EncodeHopReply));
        return Status();
      });
}

grpc::ServerUnaryReactor* GraphService::GatherRows(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  using Request = graph::v1::GatherRowsRequest;
  return HandleFramed<Request>(
      context_, "GatherRows", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 1));
        ASSIGN_OR_RETURN(const std::span<const LocalNodeId> nodes,
                         messages::LocalIds(frame.tensors[0], call->limits()));
        ASSIGN_OR_RETURN(const NodeTypeId type, messages::DecodeNodeType(frame.header.node_type()));
        ASSIGN_OR_RETURN(const std::shared_ptr<RowReply> rows,
                         RowReply::Make(nodes.size(), frame.header.row_bytes(), frame.tensors[0], call->limits()));
        partition_->GatherRows(type, frame.header.column(), nodes, rows->sink(), call->deadline(),
                               AnswerRows<graph::v1::GatherRowsResponse>(call, rows));
        return Status();
      });
}

grpc::ServerUnaryReactor* GraphService::SeedsOfStep(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  using Request = graph::v1::SeedsOfStepRequest;
  return HandleFramed<Request>(
      context_, "SeedsOfStep", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        ASSIGN_OR_RETURN(const sampler::SeedQuery query, messages::DecodeSeedsRequest(frame, call->limits()));
        const auto encode = [query](const sampler::PartitionSeeds& seeds) {
          return messages::EncodeSeedsReply(query, seeds);
        };
        partition_->SeedsOfStep(query, call->deadline(),
                                Answer<graph::v1::SeedsOfStepResponse, sampler::PartitionSeeds>(call, encode));
        return Status();
      });
}

grpc::ServerUnaryReactor* GraphService::LookUp(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* reply) {
  using Request = graph::v1::LookUpRequest;
  return HandleFramed<Request>(
      context_, "LookUp", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 1));
        ASSIGN_OR_RETURN(const NodeTypeId type, messages::DecodeNodeType(frame.header.node_type()));
        ASSIGN_OR_RETURN(std::vector<OriginalNodeId> ids,
                         messages::WideIds<OriginalNodeId>(frame.tensors[0], call->limits()));
        auto held = std::make_shared<std::vector<OriginalNodeId>>(std::move(ids));
        partition_->ToGlobalIds(type, *held, call->deadline(), AnswerTensor<graph::v1::LookUpResponse>(call, held));
        return Status();
      });
}

grpc::ServerUnaryReactor* GraphService::InDegrees(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* reply) {
  using Request = graph::v1::InDegreesRequest;
  return HandleFramed<Request>(
      context_, "InDegrees", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 1));
        ASSIGN_OR_RETURN(const EdgeTypeId type, messages::DecodeEdgeType(frame.header.edge_type()));
        ASSIGN_OR_RETURN(const std::span<const LocalNodeId> nodes,
                         messages::LocalIds(frame.tensors[0], call->limits()));
        partition_->InDegrees(type, nodes, call->deadline(),
                              AnswerTensor<graph::v1::InDegreesResponse>(call, frame.tensors[0]));
        return Status();
      });
}

grpc::ServerUnaryReactor* GraphService::FindEdges(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* reply) {
  using Request = graph::v1::FindEdgesRequest;
  return HandleFramed<Request>(
      context_, "FindEdges", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 1));
        ASSIGN_OR_RETURN(const EdgeTypeId type, messages::DecodeEdgeType(frame.header.edge_type()));
        ASSIGN_OR_RETURN(std::vector<GlobalEdgeId> ids,
                         messages::WideIds<GlobalEdgeId>(frame.tensors[0], call->limits()));
        auto held = std::make_shared<std::vector<GlobalEdgeId>>(std::move(ids));
        partition_->FindEdges(type, *held, call->deadline(),
                              Answer<graph::v1::FindEdgesResponse, Tensor>(call, [held](const Tensor& ends) {
                                return std::vector<Tensor>{NarrowEndpoints(ends)};
                              }));
        return Status();
      });
}

grpc::ServerUnaryReactor* GraphService::GatherEdgeRows(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request, grpc::ByteBuffer* reply) {
  using Request = graph::v1::GatherEdgeRowsRequest;
  return HandleFramed<Request>(
      context_, "GatherEdgeRows", context, request, reply, [this](Call call, rpc::Frame<Request>&& frame) {
        RETURN_IF_ERROR(messages::CheckTensorCount(frame.tensors, 1));
        ASSIGN_OR_RETURN(const EdgeTypeId type, messages::DecodeEdgeType(frame.header.edge_type()));
        ASSIGN_OR_RETURN(std::vector<GlobalEdgeId> ids,
                         messages::WideIds<GlobalEdgeId>(frame.tensors[0], call->limits()));
        auto held = std::make_shared<std::vector<GlobalEdgeId>>(std::move(ids));
        partition_->GatherEdgeRows(type, frame.header.column(), *held, call->deadline(),
                                   AnswerTensor<graph::v1::GatherEdgeRowsResponse>(call, held));
        return Status();
      });
}

}  // namespace espalier::server
