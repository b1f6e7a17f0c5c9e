#include "services/server/framed_call.h"

#include "services/base/failpoint.h"
#include "services/rpc/server_answer.h"
#include "services/rpc/status_map.h"

namespace espalier::server {

void FramedCall::Finish(const Status& status) {
  Record(status.code(), 0);
  rpc::MarkAsAnswer(*context_, status);
  reactor_->Finish(rpc::ToGrpc(status));
}

void FramedCall::FinishWithBytes(grpc::ByteBuffer bytes) {
  if (const Status failed = Failpoint("server.reply"); !failed.ok()) return Finish(failed);
  const size_t reply_bytes = bytes.Length();
  if (reply_bytes > service_.limits.max_reply_bytes) {
    return Finish(ResourceExhausted("the answer has " + std::to_string(reply_bytes) + " bytes, the limit is " +
                                    std::to_string(service_.limits.max_reply_bytes) + ": send a smaller request"));
  }
  reply_->Swap(&bytes);
  Record(StatusCode::kOk, reply_bytes);
  reactor_->Finish(grpc::Status::OK);
}

void FramedCall::Record(StatusCode code, size_t reply_bytes) {
  if (service_.metrics == nullptr) return;
  service_.metrics->RecordCall(method_, code, timer_.Seconds(), request_->Length(), reply_bytes);
}

void Submit(const ServiceContext& service, const std::shared_ptr<FramedCall>& call, std::function<void()> work) {
  if (!service.workers->TrySubmit(std::move(work), call->request().Length())) {
    call->Finish(Unavailable("all workers are busy and the queue is full"));
  }
}

namespace {

// Runs `work` on `workers`, or on this thread if `workers` is null. Finishes the call with `busy_message` if the queue
// of `workers` is full.
void ContinueOn(rpc::WorkerPool* workers, const std::shared_ptr<FramedCall>& call, std::function<Status()> work,
                const char* busy_message) {
  const auto run = [call, work = std::move(work)] {
    if (call->IsCancelled()) return call->Finish(Cancelled("the client has disconnected while the call was queued"));
    if (const Status status = work(); !status.ok()) call->Finish(status);
  };
  if (workers == nullptr) return run();
  if (!workers->TrySubmit(run, call->request().Length())) call->Finish(Unavailable(busy_message));
}

}  // namespace

void ContinueOnPluginThread(const ServiceContext& service, const std::shared_ptr<FramedCall>& call,
                            std::function<Status()> work) {
  ContinueOn(service.plugin_workers, call, std::move(work), "all threads for plugins are busy and their queue is full");
}

void ContinueOnChangeThread(const ServiceContext& service, const std::shared_ptr<FramedCall>& call,
                            std::function<Status()> work) {
  ContinueOn(service.change_worker, call, std::move(work),
             "the thread of functions that change tensors is busy and its queue is full");
}

}  // namespace espalier::server
