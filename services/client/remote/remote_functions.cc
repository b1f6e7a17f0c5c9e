// A call that changes tensors has a change number, so the server runs the function once even if the request arrives
// repeatedly. Any other call is retried only if the function is idempotent, which the server's list of functions says.
// The first call that changes no tensors queries the list and stores it.
#include "services/client/remote/remote_functions.h"

#include <map>
#include <optional>
#include <utility>

#include "espalier/function/v1/function.pb.h"
#include "services/base/mutex.h"
#include "services/rpc/call.h"
#include "services/rpc/frame.h"

namespace espalier::client {
namespace {

constexpr const char* kListFunctions = "/espalier.function.v1.ServerFunctions/ListFunctions";
constexpr const char* kCallFunction = "/espalier.function.v1.ServerFunctions/CallFunction";

Result<Tensor> DecodeResponse(const Result<grpc::ByteBuffer>& reply) {
  if (!reply.ok()) return reply.status();
  ASSIGN_OR_RETURN(rpc::Frame<function::v1::CallFunctionResponse> frame,
                   rpc::DecodeFrame<function::v1::CallFunctionResponse>(*reply));
  const bool is_bytes =
      frame.tensors.size() == 1 && frame.tensors[0].dtype() == DType::kU8 && frame.tensors[0].shape().size() == 1;
  if (!is_bytes) return InvalidArgument("the response of the function is not one tensor U8 [n]");
  return std::move(frame.tensors[0]);
}

}  // namespace

struct RemoteFunctions::State {
  State(std::shared_ptr<rpc::Peer> the_peer, std::shared_ptr<ChangeNumbers> the_changes,
        std::function<tensor::v1::RequestIdentity()> make_identity)
      : peer(std::move(the_peer)), changes(std::move(the_changes)), identity(std::move(make_identity)) {}

  const std::shared_ptr<rpc::Peer> peer;
  const std::shared_ptr<ChangeNumbers> changes;
  const std::function<tensor::v1::RequestIdentity()> identity;
  Mutex mutex;
  // By function name; absent until the server has returned the list.
  std::optional<std::map<std::string, bool>> is_idempotent ABSL_GUARDED_BY(mutex);

  // Returns whether a call of the function may be retried; nullopt until the server has returned the list. A function
  // that is not in the list is not retried: the server returns an error.
  std::optional<bool> CanRetry(const std::string& function) ABSL_LOCKS_EXCLUDED(mutex) {
    MutexLock lock(&mutex);
    if (!is_idempotent) return std::nullopt;
    const auto found = is_idempotent->find(function);
    return found != is_idempotent->end() && found->second;
  }

  Status StoreList(const Result<grpc::ByteBuffer>& reply) ABSL_LOCKS_EXCLUDED(mutex) {
    if (!reply.ok()) return reply.status();
    ASSIGN_OR_RETURN(const rpc::Frame<function::v1::ListFunctionsResponse> frame,
                     rpc::DecodeFrame<function::v1::ListFunctionsResponse>(*reply));
    std::map<std::string, bool> listed;
    for (const function::v1::Function& function : frame.header.functions()) {
      listed[function.name()] = function.is_idempotent();
    }
    MutexLock lock(&mutex);
    is_idempotent = std::move(listed);
    return Status();
  }

  function::v1::CallFunctionRequest MakeHeader(const std::string& name) const {
    function::v1::CallFunctionRequest header;
    *header.mutable_identity() = identity();
    header.set_function(name);
    return header;
  }

  void SendChange(const std::string& name, const Tensor& request, Deadline deadline, sampler::Done<Tensor> done) const {
    function::v1::CallFunctionRequest header = MakeHeader(name);
    *header.mutable_change() = changes->Begin();
    const uint64_t sequence = header.change().sequence();
    rpc::CallWithRetries(peer, kCallFunction, rpc::EncodeFrame(std::move(header), std::span(&request, 1)), deadline,
                         [numbers = changes, sequence, done = std::move(done)](const Result<grpc::ByteBuffer>& reply) {
                           numbers->End(sequence);  // before `done`, which may begin the next change
                           done(DecodeResponse(reply));
                         });
  }

  void Send(const std::string& name, const Tensor& request, bool can_retry, Deadline deadline,
            sampler::Done<Tensor> done) const {
    function::v1::CallFunctionRequest header = MakeHeader(name);
    const grpc::ByteBuffer message = rpc::EncodeFrame(std::move(header), std::span(&request, 1));
    auto take = [done = std::move(done)](const Result<grpc::ByteBuffer>& reply) { done(DecodeResponse(reply)); };
    if (can_retry) {
      rpc::CallWithRetries(peer, kCallFunction, message, deadline, std::move(take));
    } else {
      rpc::CallOnce(peer, kCallFunction, message, deadline, std::move(take));
    }
  }
};

RemoteFunctions::RemoteFunctions(std::shared_ptr<rpc::Peer> peer, std::shared_ptr<ChangeNumbers> changes,
                                 std::function<tensor::v1::RequestIdentity()> identity)
    : state_(std::make_shared<State>(std::move(peer), std::move(changes), std::move(identity))) {}

void RemoteFunctions::Call(const std::string& function, const Tensor& request, sampler::TensorEffect effect,
                           Deadline deadline, sampler::Done<Tensor> done) {
  if (effect == sampler::TensorEffect::kChanges) {
    return state_->SendChange(function, request, deadline, std::move(done));
  }
  if (const std::optional<bool> can_retry = state_->CanRetry(function)) {
    return state_->Send(function, request, *can_retry, deadline, std::move(done));
  }
  function::v1::ListFunctionsRequest list;
  *list.mutable_identity() = state_->identity();
  rpc::CallWithRetries(
      state_->peer, kListFunctions, rpc::EncodeFrame(std::move(list), {}), deadline,
      [state = state_, function, request, deadline, done = std::move(done)](const Result<grpc::ByteBuffer>& reply) {
        if (Status stored = state->StoreList(reply); !stored.ok()) return done(std::move(stored));
        state->Send(function, request, state->CanRetry(function).value_or(false), deadline, done);
      });
}

}  // namespace espalier::client
