// A call that changes tensors has a change number, with which the server runs the function once even if the request
// arrives repeatedly. For other calls the list of functions says whether the function is idempotent. The first such
// call queries the list, and the object keeps it.
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
  State(std::shared_ptr<rpc::Peer> p, std::shared_ptr<ChangeNumbers> c, std::function<tensor::v1::RequestIdentity()> i)
      : peer(std::move(p)), changes(std::move(c)), identity(std::move(i)) {}

  const std::shared_ptr<rpc::Peer> peer;
  const std::shared_ptr<ChangeNumbers> changes;
  const std::function<tensor::v1::RequestIdentity()> identity;
  Mutex mutex;
  // By function; absent until the server has returned the list.
  std::optional<std::map<std::string, bool>> is_idempotent ABSL_GUARDED_BY(mutex);

  // Returns whether a call may be retried; nullopt before the list is known. A call of an unknown function is not
  // retried: the server returns an error.
  std::optional<bool> MayRepeat(const std::string& function) ABSL_LOCKS_EXCLUDED(mutex) {
    MutexLock lock(&mutex);
    if (!is_idempotent) return std::nullopt;
    const auto found = is_idempotent->find(function);
    return found != is_idempotent->end() && found->second;
  }

  Status Remember(const Result<grpc::ByteBuffer>& reply) ABSL_LOCKS_EXCLUDED(mutex) {
    if (!reply.ok()) return reply.status();
    ASSIGN_OR_RETURN(const rpc::Frame<function::v1::ListFunctionsResponse> frame,
                     rpc::DecodeFrame<function::v1::ListFunctionsResponse>(*reply));
    std::map<std::string, bool> listed;
    for (const function::v1::Function& one : frame.header.functions()) listed[one.name()] = one.is_idempotent();
    MutexLock lock(&mutex);
    is_idempotent = std::move(listed);
    return Status();
  }

  function::v1::CallFunctionRequest HeaderFor(const std::string& name) const {
    function::v1::CallFunctionRequest header;
    *header.mutable_identity() = identity();
    header.set_function(name);
    return header;
  }

  void SendChange(const std::string& name, const Tensor& request, Deadline deadline, sampler::Done<Tensor> done) const {
    function::v1::CallFunctionRequest header = HeaderFor(name);
    *header.mutable_change() = changes->Begin();
    const uint64_t sequence = header.change().sequence();
    rpc::CallWithRetries(peer, kCallFunction, rpc::EncodeFrame(std::move(header), std::span(&request, 1)), deadline,
                         [numbers = changes, sequence, done = std::move(done)](const Result<grpc::ByteBuffer>& reply) {
                           numbers->End(sequence);  // before `done`, which may begin the next change
                           done(DecodeResponse(reply));
                         });
  }

  void Send(const std::string& name, const Tensor& request, bool may_repeat, Deadline deadline,
            sampler::Done<Tensor> done) const {
    function::v1::CallFunctionRequest header = HeaderFor(name);
    const grpc::ByteBuffer message = rpc::EncodeFrame(std::move(header), std::span(&request, 1));
    auto take = [done = std::move(done)](const Result<grpc::ByteBuffer>& reply) { done(DecodeResponse(reply)); };
    if (may_repeat) {
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
  if (const std::optional<bool> may_repeat = state_->MayRepeat(function)) {
    return state_->Send(function, request, *may_repeat, deadline, std::move(done));
  }
  function::v1::ListFunctionsRequest list;
  *list.mutable_identity() = state_->identity();
  rpc::CallWithRetries(
      state_->peer, kListFunctions, rpc::EncodeFrame(std::move(list), {}), deadline,
      [state = state_, function, request, deadline, done = std::move(done)](const Result<grpc::ByteBuffer>& reply) {
        if (Status remembered = state->Remember(reply); !remembered.ok()) return done(std::move(remembered));
        state->Send(function, request, state->MayRepeat(function).value_or(false), deadline, done);
      });
}

}  // namespace espalier::client
