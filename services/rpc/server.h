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
  // Null: connections are plaintext and unauthenticated; addresses other than loopback then require allow_other_hosts.
  std::shared_ptr<const TransportSecurity> tls;
  std::vector<pki::PeerRole> callers;  // with TLS: roles that may call; health checks are open to all roles
  bool allow_other_hosts = false;
  size_t max_request_bytes = size_t{64} << 20;  // larger requests get RESOURCE_EXHAUSTED
  size_t max_reply_bytes = kMaxMessageBytes;
  int max_concurrent_streams = 256;             // per connection; further calls wait at the client
  size_t memory_quota_bytes = size_t{2} << 30;  // of all messages in flight; 0: no quota
};

// Returns the error of Start for options.listen without binding, so that a main can report a wrong flag.
Status CheckListenAddress(const ServerOptions& options);

// Thread-safe after Start.
class RpcServer {
 public:
  // Binds and serves `services`, which must outlive the server, and the standard health service. InvalidArgument: the
  // address is invalid; FailedPrecondition: other hosts could connect without TLS and options.allow_other_hosts is not
  // set; Unavailable: the port is in use or the address is not of this machine.
  static Result<std::unique_ptr<RpcServer>> Start(const ServerOptions& options,
                                                  const std::vector<grpc::Service*>& services);
  ~RpcServer();

  // "127.0.0.1:43121", with the bound port.
  const std::string& address() const { return address_; }
  // Sets health to NOT_SERVING, refuses new calls, waits for calls in flight and cancels the remaining ones at the
  // deadline. Idempotent.
  void Drain(Deadline deadline);

 private:
  RpcServer() = default;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace espalier::rpc
