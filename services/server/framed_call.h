// The common part of all framed unary methods: a worker thread, the request gate, limits, metrics, and exactly one
// response. Each method adds three steps: decode the request, call the partition or a plugin, encode the response.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "services/base/clock.h"
#include "services/rpc/deadline.h"
#include "services/rpc/frame.h"
#include "services/rpc/worker_pool.h"
#include "services/server/limits.h"
#include "services/server/metrics.h"
#include "services/server/request_gate.h"

namespace espalier::server {

// The threads, checks and limits that the services of a server share. The objects pointed to outlive the services;
// `metrics` may be null.
struct ServiceContext {
  rpc::WorkerPool* workers = nullptr;
  rpc::WorkerPool* plugin_workers = nullptr;  // for plugin code, which may take long; null without plugins
  rpc::WorkerPool* change_worker = nullptr;   // one thread, for functions that change tensors; null without plugins
  RequestGate* gate = nullptr;
  RpcMetrics* metrics = nullptr;
  ServiceLimits limits;
};

// One call in progress, shared by all code that may still finish it. Finish or FinishWith is called exactly once, on
// any thread. `service` outlives the call.
class FramedCall {
 public:
  FramedCall(const ServiceContext& service, const char* method, grpc::CallbackServerContext* context,
             const grpc::ByteBuffer* request, grpc::ByteBuffer* reply)
      : service_(service),
        method_(method),
        context_(context),
        request_(request),
        reply_(reply),
        reactor_(context->DefaultReactor()),
        deadline_(rpc::FromSystemTime(context->deadline())) {}

  grpc::ServerUnaryReactor* reactor() const { return reactor_; }
  const grpc::ByteBuffer& request() const { return *request_; }
  Deadline deadline() const { return deadline_; }
  const ServiceLimits& limits() const { return service_.limits; }
  RequestGate& gate() const { return *service_.gate; }
  bool IsCancelled() const { return context_->IsCancelled(); }

  // Finishes the call with an error.
  void Finish(const Status& status);
  // Finishes the call with header and tensors, or with RESOURCE_EXHAUSTED if they exceed max_reply_bytes.
  template <class Response>
  void FinishWith(Response header, const std::vector<Tensor>& tensors) {
    FinishWithBytes(rpc::EncodeFrame(std::move(header), tensors));
  }

 private:
  void FinishWithBytes(grpc::ByteBuffer bytes);
  void Record(StatusCode code, size_t reply_bytes);

  const ServiceContext& service_;
  const char* const method_;
  grpc::CallbackServerContext* const context_;
  const grpc::ByteBuffer* const request_;
  grpc::ByteBuffer* const reply_;
  grpc::ServerUnaryReactor* const reactor_;
  const Deadline deadline_;
  const Timer timer_;
};

// Runs `work` on a worker; finishes the call with UNAVAILABLE if all workers are busy and the queue is full.
void Submit(const ServiceContext& service, const std::shared_ptr<FramedCall>& call, std::function<void()> work);

// Continues a call on a plugin thread or, without plugins, on the calling thread. `work` finishes the call, or returns
// an error with which the call is finished. Finishes the call with UNAVAILABLE if the plugin threads' queue is full.
void ContinueOnPluginThread(const ServiceContext& service, const std::shared_ptr<FramedCall>& call,
                            std::function<Status()> work);
// Like ContinueOnPluginThread, but on the thread for functions that change tensors.
void ContinueOnChangeThread(const ServiceContext& service, const std::shared_ptr<FramedCall>& call,
                            std::function<Status()> work);

// Decodes a Request on a worker thread and checks it with the gate. Then calls `body` with the call and the request;
// `body` finishes the call or returns an error: Status body(std::shared_ptr<FramedCall>, rpc::Frame<Request>&&).
template <class Request, class Body>
grpc::ServerUnaryReactor* HandleFramed(const ServiceContext& service, const char* method,
                                       grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* reply, Body body) {
  auto call = std::make_shared<FramedCall>(service, method, context, request, reply);
  grpc::ServerUnaryReactor* reactor = call->reactor();
  Submit(service, call, [call, body = std::move(body)] {
    if (call->IsCancelled()) return call->Finish(Cancelled("the client has disconnected while the call was queued"));
    Result<rpc::Frame<Request>> frame = rpc::DecodeFrame<Request>(call->request());
    if (!frame.ok()) return call->Finish(frame.status());
    if (const Status admitted = call->gate().Admit(frame->header.identity()); !admitted.ok()) {
      return call->Finish(admitted);
    }
    if (const Status status = body(call, *std::move(frame)); !status.ok()) call->Finish(status);
  });
  return reactor;
}

}  // namespace espalier::server
