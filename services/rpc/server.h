// A gRPC server with health checks, limits and draining.
#pragma once

#include <grpcpp/impl/service_type.h>
#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/rpc/limits.h"
#include "services/rpc/tls.h"

namespace espalier::rpc {

struct ServerOptions {
  std::string listen = "127.0.0.1:0";  // port 0 picks a free one
  // Null: connections are plaintext and unauthenticated.
  std::shared_ptr<const TransportSecurity> tls;
  // With TLS: the roles that may call. Health checks are open to all roles.
  std::vector<pki::PeerRole> callers;
  bool allow_other_hosts = false;               // without TLS: allow addresses other than loopback
  size_t max_request_bytes = size_t{64} << 20;  // larger requests get RESOURCE_EXHAUSTED
  size_t max_reply_bytes = kMaxMessageBytes;
  int max_concurrent_streams = 256;             // per connection; further calls wait at the client
  size_t memory_quota_bytes = size_t{2} << 30;  // of all messages in flight; 0: no quota
};

// Returns the error that Start would return for options.listen, but does not bind. For checking a flag.
Status CheckListenAddress(const ServerOptions& options);

// Thread-safe after Start, except Drain, which is for one thread.
class RpcServer {
 public:
  // Binds and serves `services`, which must outlive the server, and the standard health service. InvalidArgument: the
  // address is invalid; FailedPrecondition: other hosts could connect without TLS and options.allow_other_hosts is not
  // set, or this process was forked after its parent used gRPC; Unavailable: the port is in use or the address is not
  // of this machine.
  static Result<std::unique_ptr<RpcServer>> Start(const ServerOptions& options,
                                                  const std::vector<grpc::Service*>& services);
  ~RpcServer();

  // "127.0.0.1:43121", with the bound port.
  const std::string& address() const { return address_; }
  // Sets health to NOT_SERVING, refuses new calls, waits for calls in flight and cancels the remaining ones at the
  // deadline. Blocks until all calls have ended. Later calls of Drain have no effect.
  void Drain(Deadline deadline);

 private:
  RpcServer() = default;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace espalier::rpc
