// Start() requests the first max_in_flight pieces. Each completed call then requests the next piece. If no piece is
// left or the query has failed, the call decrements in_flight_ instead; the call that decrements it to 0 calls `done`.
// The functions of the PiecewiseRequest and `done` are called without the lock.
#include "services/client/remote/call_window.h"
#include "services/base/mutex.h"

#include <algorithm>
#include <utility>

namespace espalier::client {
namespace {

// State of one query. Each call in flight holds a reference to it.
class CallWindow : public std::enable_shared_from_this<CallWindow> {
 public:
  CallWindow(rpc::Callee callee, PiecewiseRequest request, Deadline deadline, sampler::DoneStatus done)
      : callee_(std::move(callee)), request_(std::move(request)), deadline_(deadline), done_(std::move(done)) {}

  void Start(size_t max_in_flight) {
    const size_t first_pieces = std::min(max_in_flight, request_.num_pieces);
    if (first_pieces == 0) return done_(Status());
    {
      MutexLock lock(&mutex_);
      next_piece_ = in_flight_ = first_pieces;
    }
    for (size_t piece = 0; piece < first_pieces; ++piece) Request(piece);
  }

 private:
  void Request(size_t piece) {
    rpc::CallWithRetries(callee_, request_.method, request_.encode_request(piece), deadline_,
                         [self = shared_from_this(), piece](Result<grpc::ByteBuffer> reply) {
                           self->OnReply(reply.ok() ? self->request_.handle_reply(piece, *reply)
                                                    : self->HandleError(piece, reply.status()));
                         });
  }

  Status HandleError(size_t piece, const Status& error) const {
    return request_.handle_error ? request_.handle_error(piece, error) : error;
  }

  void OnReply(const Status& status) ABSL_LOCKS_EXCLUDED(mutex_) {
    size_t next = 0;
    Status outcome;
    {
      MutexLock lock(&mutex_);
      if (first_error_.ok()) first_error_ = status;
      const bool requests_more = first_error_.ok() && next_piece_ < request_.num_pieces;
      if (!requests_more && --in_flight_ > 0) return;
      next = requests_more ? next_piece_++ : request_.num_pieces;
      outcome = first_error_;
    }
    if (next < request_.num_pieces) return Request(next);
    done_(std::move(outcome));
  }

  const rpc::Callee callee_;
  const PiecewiseRequest request_;
  const Deadline deadline_;
  const sampler::DoneStatus done_;
  Mutex mutex_;
  size_t next_piece_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  Status first_error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void RequestInPieces(rpc::Callee callee, PiecewiseRequest request, size_t max_in_flight, Deadline deadline,
                     sampler::DoneStatus done) {
  std::make_shared<CallWindow>(std::move(callee), std::move(request), deadline, std::move(done))->Start(max_in_flight);
}

}  // namespace espalier::client
