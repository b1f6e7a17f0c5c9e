// ServerFunctions over plugins: decode, call, encode.
#pragma once

#include <memory>

#include "espalier/function/v1/function.grpc.pb.h"
#include "services/server/framed_call.h"
#include "services/server/plugin_call.h"
#include "services/server/plugin_functions.h"

namespace espalier::server {

namespace internal {
// Both methods are raw: their messages are frames, not protobuf.
using F = function::v1::ServerFunctions;
using RawServerFunctions = F::WithRawCallbackMethod_CallFunction<F::WithRawCallbackMethod_ListFunctions<F::Service>>;
}  // namespace internal

// Which functions can be called, and over what.
struct ServedFunctions {
  std::shared_ptr<const PluginFunctions> functions;  // null: none
  PluginPartition partition = {};                    // where there are functions
  // Threads that run them, and initialisers, so that slow ones do not keep others from their rows; more than 0.
  int threads = 1;
  size_t queue_capacity = 256;  // calls that may wait for one; more get UNAVAILABLE
};

// Thread-safe.
class FunctionService final : public internal::RawServerFunctions {
 public:
  // Functions run on the context's threads for plugins, what needs none on its workers.
  FunctionService(ServedFunctions served, const ServiceContext& context);

  grpc::ServerUnaryReactor* ListFunctions(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* CallFunction(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* reply) override;

 private:
  const std::shared_ptr<const PluginFunctions> functions_;
  const PluginPartition partition_;
  const ServiceContext context_;
  const ServiceContext context_of_calls_;  // whose workers are those for plugins
};

}  // namespace espalier::server
