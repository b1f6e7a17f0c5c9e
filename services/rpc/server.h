// A gRPC server's life: bind, serve, drain.
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
  // Null: connections are plaintext and unauthenticated, so addresses other than loopback must be asked for by name.
  std::shared_ptr<const TransportSecurity> tls;
  std::vector<pki::PeerRole> callers;  // with TLS: who may call, besides health checks
  bool allow_other_hosts = false;
  size_t max_request_bytes = size_t{64} << 20;  // larger requests get RESOURCE_EXHAUSTED
  size_t max_reply_bytes = kMaxMessageBytes;
  int max_concurrent_streams = 256;             // per connection; further calls wait at the client
  size_t memory_quota_bytes = size_t{2} << 30;  // of all messages in flight; 0: no quota
};

// What Start would say about options.listen, without binding: for mains, whose flags are wrong then.
Status CheckListenAddress(const ServerOptions& options);

// Thread-safe after Start.
class RpcServer {
 public:
  // Binds, serves `services` (which outlive the server) and the standard health service. InvalidArgument: the
  // address; FailedPrecondition: other hosts could connect and that was not asked for; Unavailable: port taken.
  static Result<std::unique_ptr<RpcServer>> Start(const ServerOptions& options,
                                                  const std::vector<grpc::Service*>& services);
  ~RpcServer();

  // "127.0.0.1:43121": with the port that was bound.
  const std::string& address() const { return address_; }
  // Refuses new calls (health says NOT_SERVING first), lets those under way finish, cancels what is left at the
  // deadline. The second call does nothing.
  void Drain(Deadline deadline);

 private:
  RpcServer() = default;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace espalier::rpc
