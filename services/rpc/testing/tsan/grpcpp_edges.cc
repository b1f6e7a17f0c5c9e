// Annotations (edges.h) of counters in gRPC's C++ headers. The project's code has instrumented copies of these inline
// functions, libgrpc++ has uninstrumented ones. Counters that both use are acquired where libgrpc++ may have counted
// last.
#include <grpcpp/client_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <memory>

#include "services/rpc/testing/tsan/edges.h"

using espalier::tsan::Next;
using grpc::internal::ServerCallbackCall;
using grpc::internal::ServerReactor;

namespace espalier::tsan {

// Access to private members, which only an explicit instantiation may name.
std::shared_ptr<grpc::Channel>& ChannelOf(grpc::ClientContext& context);
std::atomic_int& OutstandingOf(ServerCallbackCall& call);
std::atomic_int& CancelConditionsOf(ServerCallbackCall& call);

template <auto kMember>
struct OpenChannel {
  friend std::shared_ptr<grpc::Channel>& ChannelOf(grpc::ClientContext& context) { return context.*kMember; }
};
template struct OpenChannel<&grpc::ClientContext::channel_>;

template <auto kMember>
struct OpenOutstanding {
  friend std::atomic_int& OutstandingOf(ServerCallbackCall& call) { return call.*kMember; }
};
template struct OpenOutstanding<&ServerCallbackCall::callbacks_outstanding_>;

template <auto kMember>
struct OpenCancelConditions {
  friend std::atomic_int& CancelConditionsOf(ServerCallbackCall& call) { return call.*kMember; }
};
template struct OpenCancelConditions<&ServerCallbackCall::on_cancel_conditions_remaining_>;

// Wraps a reactor for its only OnCancel, after which gRPC decrements the number of callbacks.
class CancelledReactor final : public ServerReactor {
 public:
  CancelledReactor(ServerCallbackCall& call, ServerReactor& reactor) : call_(call), reactor_(reactor) {}
  bool InternalInlineable() override { return reactor_.InternalInlineable(); }
  void OnDone() override {}  // never called: gRPC calls it on the wrapped reactor
  void OnCancel() override {
    reactor_.OnCancel();
    Release(&OutstandingOf(call_));
    delete this;
  }

 private:
  ServerCallbackCall& call_;
  ServerReactor& reactor_;
};

}  // namespace espalier::tsan

using espalier::tsan::CancelConditionsOf;
using espalier::tsan::CancelledReactor;
using espalier::tsan::ChannelOf;
using espalier::tsan::OutstandingOf;

// Orders OnDone after the last callback of a call.
void ScheduleOnDone(ServerCallbackCall* call,
                    bool is_inline) asm("_ZN4grpc8internal18ServerCallbackCall14ScheduleOnDoneEb");
void ScheduleOnDone(ServerCallbackCall* call, bool is_inline) {
  static auto* const next =
      Next<void(ServerCallbackCall*, bool)>("_ZN4grpc8internal18ServerCallbackCall14ScheduleOnDoneEb");
  OutstandingOf(*call).load();
  next(call, is_inline);
}

// Orders what follows after the later of the handler's end and the cancellation.
void CallOnCancel(ServerCallbackCall* call, ServerReactor* reactor) asm(
    "_ZN4grpc8internal18ServerCallbackCall12CallOnCancelEPNS0_13ServerReactorE");
void CallOnCancel(ServerCallbackCall* call, ServerReactor* reactor) {
  static auto* const next = Next<void(ServerCallbackCall*, ServerReactor*)>(
      "_ZN4grpc8internal18ServerCallbackCall12CallOnCancelEPNS0_13ServerReactorE");
  CancelConditionsOf(*call).load();
  next(call, new CancelledReactor(*call, *reactor));
}

// A context may hold the last reference to its channel, which is therefore released here.
void EndContext(grpc::ClientContext* context) asm("_ZN4grpc13ClientContextD1Ev");
void EndContext(grpc::ClientContext* context) {
  static auto* const next = Next<void(grpc::ClientContext*)>("_ZN4grpc13ClientContextD1Ev");
  const std::shared_ptr<grpc::Channel> channel = ChannelOf(*context);
  next(context);
}
