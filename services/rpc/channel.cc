#include "services/rpc/channel.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <utility>

#include "services/rpc/callback_threads.h"
#include "services/rpc/forked.h"

namespace espalier::rpc {

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, const ChannelSettings& settings) {
  RecordUseOfGrpc();
  KeepCallbackThreads();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(settings.max_message_bytes));
  arguments.SetMaxSendMessageSize(static_cast<int>(settings.max_message_bytes));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(settings.keepalive_interval.count()));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(settings.keepalive_timeout.count()));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  // Despite its name, this is the timeout of one attempt to connect; handshakes on a busy machine are slow.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, static_cast<int>(settings.longest_reconnect_delay.count()));
  // Connect to the servers of a job directly, not through the HTTP proxy of the environment.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // CallWithRetries retries; retries by gRPC would buffer every request a second time.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // Use a connection per channel: channels to one address would otherwise share a connection and its flow control.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto credentials = settings.tls == nullptr ? grpc::InsecureChannelCredentials()
                                                   : settings.tls->ChannelCredentials(settings.server_role);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

Peer::Peer(std::string peer_name, std::string peer_address, const ChannelSettings& settings)
    : name(std::move(peer_name)),
      address(std::move(peer_address)),
      stop(settings.stop),
      metrics(settings.metrics),
      channel(MakeChannel(address, settings)),
      stub(channel) {}

Peer::~Peer() {
  // Closing a connection in a forked child would remove the connection from the parent's epoll set. The extra reference
  // keeps it open until the child exits.
  if (!CheckNotForked().ok()) new std::shared_ptr<grpc::Channel>(channel);
}

}  // namespace espalier::rpc
