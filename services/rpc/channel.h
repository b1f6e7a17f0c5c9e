// Connections to servers.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <memory>
#include <string>

#include "services/base/backoff.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/rpc/limits.h"

namespace espalier::rpc {

struct ChannelSettings {
  size_t max_message_bytes = kMaxMessageBytes;
  // A connection without traffic is probed this often while calls wait; a peer that does not answer within
  // keepalive_timeout is gone (its calls fail with UNAVAILABLE).
  std::chrono::milliseconds keepalive_interval{20'000};
  std::chrono::milliseconds keepalive_timeout{10'000};
  // How fast a restarted server is found again.
  std::chrono::milliseconds longest_reconnect_delay{1'000};
};

// A plaintext channel; it connects on first use. The address is "host:port".
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, const ChannelSettings& settings);

// One server as its clients see it: where it is, how to reach it, how to retry. Immutable; thread-safe; shared by
// the calls in flight.
struct Peer {
  Peer(std::string peer_name, std::string peer_address, const ChannelSettings& settings);

  const std::string name;  // for messages: "graph server 1"
  const std::string address;
  const std::shared_ptr<grpc::Channel> channel;
  grpc::GenericStub stub;
  RetryPolicy retry{.max_attempts = 1'000'000};  // in effect bounded by each call's deadline
};

}  // namespace espalier::rpc
