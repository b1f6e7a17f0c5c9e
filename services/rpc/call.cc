#include "services/rpc/call.h"

#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>

#include <atomic>
#include <future>
#include <optional>
#include <utility>

#include "services/base/hash.h"
#include "services/rpc/deadline.h"
#include "services/rpc/status_map.h"

namespace espalier::rpc {
namespace {

// Spreads the retries of peers that failed together; no result depends on it.
uint32_t JitterWord() {
  static std::atomic<uint64_t> counter{
      static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count())};
  return static_cast<uint32_t>(HashCombine(0, counter.fetch_add(1)));
}

// "SampleNeighbors" of "/espalier.graph.v1.GraphStore/SampleNeighbors".
std::string ShortName(const std::string& method) { return method.substr(method.rfind('/') + 1); }

// Owns itself while an attempt or the wait between two is under way: each holds a reference.
class RetriedCall : public std::enable_shared_from_this<RetriedCall> {
 public:
  RetriedCall(std::shared_ptr<Peer> peer, std::string method, grpc::ByteBuffer request, Deadline deadline,
              std::function<void(Result<grpc::ByteBuffer>)> done)
      : peer_(std::move(peer)),
        method_(std::move(method)),
        request_(std::move(request)),
        deadline_(deadline),
        done_(std::move(done)) {}

  void Attempt() {
    ++attempts_;
    context_.emplace();
    context_->set_deadline(ToSystemTime(deadline_));
    reply_.Clear();
    peer_->stub.UnaryCall(&*context_, method_, grpc::StubOptions(), &request_, &reply_,
                          [self = shared_from_this()](grpc::Status status) { self->Finished(FromGrpc(status)); });
  }

 private:
  void Finished(const Status& status) {
    if (status.ok()) return done_(std::move(reply_));
    if (status.code() != StatusCode::kUnavailable) {
      // A deadline that passed while connecting for the n-th time: the reason is that nobody answers.
      const bool gave_up = status.code() == StatusCode::kDeadlineExceeded && !last_unavailable_.ok();
      return done_(Described(gave_up ? last_unavailable_ : status));
    }
    last_unavailable_ = status;
    const std::chrono::milliseconds delay = DelayBefore(attempts_, peer_->retry, JitterWord());
    if (attempts_ >= peer_->retry.max_attempts || deadline_.Remaining() <= delay) return done_(Described(status));
    alarm_.emplace();  // a new one each time: the last one's callback may still be returning
    alarm_->Set(std::chrono::system_clock::now() + delay, [self = shared_from_this()](bool) mutable {
      const auto held = std::move(self);  // gRPC keeps the callback, which must not keep us
      held->Attempt();
    });
  }

  Status Described(const Status& status) const {
    std::string doing = peer_->name + " at " + peer_->address + ", " + ShortName(method_);
    if (attempts_ > 1) doing += " (" + std::to_string(attempts_) + " tries)";
    return status.While(doing);
  }

  const std::shared_ptr<Peer> peer_;
  const std::string method_;
  const grpc::ByteBuffer request_;
  const Deadline deadline_;
  const std::function<void(Result<grpc::ByteBuffer>)> done_;
  int attempts_ = 0;
  Status last_unavailable_;
  std::optional<grpc::ClientContext> context_;  // of the current attempt
  grpc::ByteBuffer reply_;
  std::optional<grpc::Alarm> alarm_;
};

}  // namespace

void CallWithRetries(std::shared_ptr<Peer> peer, const std::string& method, grpc::ByteBuffer request, Deadline deadline,
                     std::function<void(Result<grpc::ByteBuffer>)> done) {
  std::make_shared<RetriedCall>(std::move(peer), method, std::move(request), deadline, std::move(done))->Attempt();
}

Result<grpc::ByteBuffer> CallAndWait(std::shared_ptr<Peer> peer, const std::string& method, grpc::ByteBuffer request,
                                     Deadline deadline) {
  std::promise<Result<grpc::ByteBuffer>> promise;
  CallWithRetries(std::move(peer), method, std::move(request), deadline,
                  [&promise](Result<grpc::ByteBuffer> reply) { promise.set_value(std::move(reply)); });
  return promise.get_future().get();
}

}  // namespace espalier::rpc
