#include "services/rpc/server.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include "services/base/host_port.h"
#include "services/rpc/callback_threads.h"
#include "services/rpc/deadline.h"
#include "services/rpc/forked.h"

namespace espalier::rpc {
namespace {

constexpr int kMaxEarlyPings = 8;            // too frequent pings that a connection may send; the next one closes it
constexpr int kMaxMetadataBytes = 16 << 10;  // names and values of one call's headers

Result<HostPort> ParseListenAddress(const ServerOptions& options) {
  ASSIGN_OR_RETURN(HostPort listen, ParseHostPort(options.listen));
  if (!IsLoopback(listen.host) && !options.allow_other_hosts && options.tls == nullptr) {
    return FailedPrecondition("listening on " + options.listen +
                              " allows other machines to connect without encryption; set the --tls-* flags to "
                              "encrypt, or --insecure-listen-any to allow it");
  }
  return listen;
}

void Configure(const ServerOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(options.max_request_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(options.max_reply_bytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_concurrent_streams);
  // Two servers on one port would each get half the connections; the second must fail instead.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Clients ping connections with pending calls every 20 s (channel_settings.h), which gRPC would treat as abuse by
  // default. Clients that ping much more often are disconnected.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, kMaxEarlyPings);
  // Release the resources of clients that disappeared. There is no maximum connection age: streams last for hours.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 3'600'000);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  if (options.memory_quota_bytes > 0) {
    grpc::ResourceQuota quota("espalier-server");
    quota.Resize(options.memory_quota_bytes);
    builder.SetResourceQuota(quota);
  }
}

std::shared_ptr<grpc::ServerCredentials> MakeCredentials(const ServerOptions& options) {
  if (options.tls == nullptr) return grpc::InsecureServerCredentials();
  return options.tls->ServerCredentials(options.callers);
}

}  // namespace

Status CheckListenAddress(const ServerOptions& options) { return ParseListenAddress(options).status(); }

Result<std::unique_ptr<RpcServer>> RpcServer::Start(const ServerOptions& options,
                                                    const std::vector<grpc::Service*>& services) {
  ASSIGN_OR_RETURN(HostPort listen, ParseListenAddress(options));
  RETURN_IF_ERROR(CheckNotForked());
  RecordUseOfGrpc();
  KeepCallbackThreads();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  Configure(options, builder);
  int bound_port = 0;
  builder.AddListeningPort(options.listen, MakeCredentials(options), &bound_port);
  for (grpc::Service* service : services) builder.RegisterService(service);

  std::unique_ptr<RpcServer> server(new RpcServer());
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || bound_port == 0) {
    return Unavailable("cannot listen on " + options.listen +
                       ": the port is taken, or the address is not one of this machine");
  }
  listen.port = static_cast<uint16_t>(bound_port);
  server->address_ = ToString(listen);
  return server;
}

RpcServer::~RpcServer() {
  if (server_ != nullptr) Drain(Deadline::After(std::chrono::seconds(0)));
}

void RpcServer::Drain(Deadline deadline) {
  if (server_ == nullptr) return;
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
  server_->Shutdown(ToSystemTime(deadline));
  server_->Wait();
  server_.reset();
}

}  // namespace espalier::rpc
