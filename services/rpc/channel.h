// Connections to servers.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <stop_token>
#include <string>

#include "services/base/backoff.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/rpc/call_metrics.h"
#include "services/rpc/channel_settings.h"
#include "services/rpc/tls.h"

namespace espalier::rpc {

// Returns a channel to "host:port", which connects on first use.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, const ChannelSettings& settings);

// One server from the view of its clients: its address, channel and retry policy. Immutable; thread-safe; shared by the
// calls in flight.
struct Peer {
  Peer(std::string peer_name, std::string peer_address, const ChannelSettings& settings);
  ~Peer();

  const std::string name;  // for messages: "graph server 1"
  const std::string address;
  const std::stop_token stop;                  // a stop request ends all calls to this server
  const std::shared_ptr<CallMetrics> metrics;  // may be null
  const std::shared_ptr<grpc::Channel> channel;
  grpc::GenericStub stub;
  RetryPolicy retry{.max_attempts = 1'000'000};  // each call's deadline ends the retries earlier
};

}  // namespace espalier::rpc
