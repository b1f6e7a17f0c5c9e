#include "services/rpc/callback_threads.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <future>

namespace espalier::rpc {
namespace {

// Makes a channel and a call, because a channel holds a reference to the threads from its first callback call on. A
// channel without credentials never connects and fails every call at once.
grpc::GenericStub* MakeKeeper() {
  auto* keeper = new grpc::GenericStub(grpc::CreateChannel("keeper", nullptr));
  grpc::ClientContext context;
  const grpc::ByteBuffer request(nullptr, 0);
  grpc::ByteBuffer reply;
  std::promise<void> failed;
  keeper->UnaryCall(&context, "/keeper", grpc::StubOptions(), &request, &reply,
                    [&failed](const grpc::Status&) { failed.set_value(); });
  failed.get_future().wait();
  return keeper;
}

}  // namespace

// The pointer stays reachable, so that leak checkers do not report it.
void KeepCallbackThreads() { [[gnu::used]] static const grpc::GenericStub* const keeper = MakeKeeper(); }

}  // namespace espalier::rpc
