// A RetriedCall is a state machine: Attempt sends the request; OnAttemptEnd ends the call, attempts another replica at
// once, or sets an alarm for a later attempt. Each pending callback holds a reference. A stop request cancels the
// current context and alarm.
#include "services/rpc/call.h"

#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>

#include <atomic>
#include <future>
#include <optional>
#include <stop_token>
#include <utility>

#include "services/base/clock.h"
#include "services/base/hash.h"
#include "services/base/mutex.h"
#include "services/rpc/callee.h"
#include "services/rpc/deadline.h"
#include "services/rpc/forked.h"
#include "services/rpc/server_answer.h"
#include "services/rpc/status_map.h"

namespace espalier::rpc {
namespace {

// Returns a pseudo-random word for the jitter of a backoff. Results of training do not depend on it.
uint32_t JitterWord() {
  static std::atomic<uint64_t> counter{
      static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count())};
  return static_cast<uint32_t>(HashCombine(0, counter.fetch_add(1)));
}

// Returns "SampleNeighbors" for "/espalier.graph.v1.GraphStore/SampleNeighbors".
std::string ShortName(const std::string& method) { return method.substr(method.rfind('/') + 1); }

// The callback of a pending attempt or backoff owns the call.
class RetriedCall : public std::enable_shared_from_this<RetriedCall> {
 public:
  // `max_attempts` is at least 1.
  RetriedCall(const Callee& callee, int max_attempts, std::string method, const grpc::ByteBuffer& request,
              Deadline deadline, std::function<void(Result<grpc::ByteBuffer>)> done)
      : replicas_(callee.replicas()),
        max_attempts_(max_attempts),
        method_(std::move(method)),
        request_(request),
        deadline_(deadline),
        done_(std::move(done)),
        peer_(callee.peer()) {}

  void Start() {
    if (const Status usable = CheckNotForked(); !usable.ok()) return done_(AddContext(usable));
    on_stop_.emplace(peer_->stop, CancelCall{weak_from_this()});
    on_deadline_stop_.emplace(deadline_.stop(), CancelCall{weak_from_this()});
    Attempt();
  }

 private:
  struct CancelCall {
    std::weak_ptr<RetriedCall> call;
    void operator()() const {
      if (const auto locked = call.lock()) locked->CancelPending();
    }
  };

  void Attempt() ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto context = std::make_shared<grpc::ClientContext>();
    context->set_deadline(ToSystemTime(deadline_));
    {
      MutexLock lock(&mutex_);
      context_ = context;
    }
    // Checked after context_ is set, so that a later stop request cancels this context.
    if (IsStopRequested()) return End(StopError());
    ++attempts_;
    if (attempts_ > 1 && peer_->metrics != nullptr) peer_->metrics->CountRetry(ShortName(method_), retry_cause_);
    if (replicas_ != nullptr) {
      picked_ = replicas_->choice.Pick();
      peer_ = replicas_->peers[picked_];
    }
    reply_.Clear();
    peer_->stub.UnaryCall(context.get(), method_, grpc::StubOptions(), &request_, &reply_,
                          [self = shared_from_this(), context](grpc::Status status) {
                            if (!status.ok())
                              self->retry_cause_ = WasAnswered(*context) ? RetryCause::kNotYet : RetryCause::kNoAnswer;
                            self->OnAttemptEnd(FromGrpc(status));
                          });
  }

  void OnAttemptEnd(Status status) {
    ReportToReplicas(status.code());
    if (status.ok()) return End(reply_);
    // Without a stop request (checked below), CANCELLED comes from a server that is shutting down.
    if (status.code() == StatusCode::kCancelled) {
      status = Unavailable("the server cancelled the call: " + status.message());
    }
    if (status.code() != StatusCode::kUnavailable) {
      // If the deadline passes during a retry, the error of the previous attempt says more.
      const bool is_retry_timeout = status.code() == StatusCode::kDeadlineExceeded && !last_unavailable_.ok();
      return End(AddContext(is_retry_timeout ? last_unavailable_ : status));
    }
    if (IsStopRequested()) return End(StopError());
    last_unavailable_ = status;
    if (replicas_ != nullptr && replicas_->choice.HasAvailableServer() && !deadline_.HasPassed()) return Attempt();
    ++backoffs_;
    const std::chrono::milliseconds delay = DelayBefore(backoffs_, peer_->retry, JitterWord());
    if (attempts_ >= max_attempts_ || deadline_.Remaining() <= delay) return End(AddContext(status));
    if (!ScheduleAttempt(delay)) End(StopError());
  }

  // A server that did not respond before the deadline counts as unreachable, so that later calls prefer other replicas.
  void ReportToReplicas(StatusCode code) {
    if (replicas_ == nullptr) return;
    if (code == StatusCode::kCancelled && IsStopRequested()) return replicas_->choice.RecordCancelled(picked_);
    const bool was_reached =
        code != StatusCode::kUnavailable && code != StatusCode::kCancelled && code != StatusCode::kDeadlineExceeded;
    if (was_reached) return replicas_->choice.RecordResponse(picked_);
    replicas_->choice.RecordUnreachable(picked_);
  }

  // Returns false, and schedules nothing, if a stop was requested.
  bool ScheduleAttempt(std::chrono::milliseconds delay) ABSL_LOCKS_EXCLUDED(mutex_) {
    // A new alarm for each backoff: the callback of the previous one may still be running.
    auto alarm = std::make_shared<grpc::Alarm>();
    MutexLock lock(&mutex_);
    alarm_.swap(alarm);
    if (IsStopRequested()) return false;
    alarm_->Set(std::chrono::system_clock::now() + delay, [self = shared_from_this()](bool) mutable {
      const auto call = std::move(self);  // gRPC keeps the callback longer; it must not keep the call alive
      call->Attempt();
    });
    return true;
  }

  void CancelPending() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<grpc::ClientContext> context;
    std::shared_ptr<grpc::Alarm> alarm;
    {
      MutexLock lock(&mutex_);
      context = context_;
      alarm = alarm_;
    }
    // No effect on an attempt or alarm that has ended.
    if (context != nullptr) context->TryCancel();
    if (alarm != nullptr) alarm->Cancel();
  }

  // Counts the call before `done` runs, so that `done` finds it counted.
  void End(Result<grpc::ByteBuffer> reply) {
    if (peer_->metrics != nullptr) {
      peer_->metrics->CountCall(ShortName(method_), {.code = reply.ok() ? StatusCode::kOk : reply.status().code(),
                                                     .tries = attempts_,
                                                     .seconds = timer_.Seconds(),
                                                     .request_bytes = request_.Length(),
                                                     .reply_bytes = reply.ok() ? reply->Length() : 0});
    }
    done_(std::move(reply));
  }

  bool IsStopRequested() const { return peer_->stop.stop_requested() || deadline_.stop().stop_requested(); }

  Status StopError() const {
    const std::string what = peer_->stop.stop_requested() ? "the process was asked to stop" : "the call was cancelled";
    return AddContext(Cancelled(what + (last_unavailable_.ok() ? "" : "; last error: " + last_unavailable_.message())));
  }

  Status AddContext(const Status& status) const {
    std::string context = peer_->name + " at " + peer_->address + ", " + ShortName(method_);
    if (attempts_ > 1) context += " (" + std::to_string(attempts_) + " tries)";
    return status.While(context);
  }

  const std::shared_ptr<Replicas> replicas_;  // null: there is one server
  const int max_attempts_;
  const std::string method_;
  const grpc::ByteBuffer request_;
  const Deadline deadline_;
  const std::function<void(Result<grpc::ByteBuffer>)> done_;
  const Timer timer_;  // since the construction
  // State of the current attempt or backoff.
  std::shared_ptr<Peer> peer_;
  size_t picked_ = 0;  // index of peer_ in replicas_->peers
  int attempts_ = 0;
  int backoffs_ = 0;
  RetryCause retry_cause_ = RetryCause::kNoAnswer;  // cause of the next retry
  Status last_unavailable_;
  grpc::ByteBuffer reply_;

  Mutex mutex_;
  std::shared_ptr<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);  // of the newest attempt
  std::shared_ptr<grpc::Alarm> alarm_ ABSL_GUARDED_BY(mutex_);            // of the newest backoff
  // The last members, so that they are destroyed first: their callbacks use the members above.
  std::optional<std::stop_callback<CancelCall>> on_stop_;
  std::optional<std::stop_callback<CancelCall>> on_deadline_stop_;
};

}  // namespace

void CallWithRetries(Callee callee, const std::string& method, const grpc::ByteBuffer& request, Deadline deadline,
                     std::function<void(Result<grpc::ByteBuffer>)> done) {
  const int max_attempts = callee.peer()->retry.max_attempts;
  std::make_shared<RetriedCall>(callee, max_attempts, method, request, deadline, std::move(done))->Start();
}

void CallOnce(std::shared_ptr<Peer> peer, const std::string& method, const grpc::ByteBuffer& request, Deadline deadline,
              std::function<void(Result<grpc::ByteBuffer>)> done) {
  std::make_shared<RetriedCall>(std::move(peer), 1, method, request, deadline, std::move(done))->Start();
}

Result<grpc::ByteBuffer> CallAndWait(Callee callee, const std::string& method, const grpc::ByteBuffer& request,
                                     Deadline deadline) {
  std::promise<Result<grpc::ByteBuffer>> promise;
  CallWithRetries(std::move(callee), method, request, deadline,
                  [&promise](Result<grpc::ByteBuffer> reply) { promise.set_value(std::move(reply)); });
  return promise.get_future().get();
}

}  // namespace espalier::rpc
