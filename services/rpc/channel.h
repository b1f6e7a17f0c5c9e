// Connections to servers.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include "services/base/backoff.h"
#include "services/base/clock.h"
#include "services/base/status.h"
#include "services/rpc/call_metrics.h"
#include "services/rpc/limits.h"
#include "services/rpc/tls.h"

namespace espalier::rpc {

struct ChannelSettings {
  size_t max_message_bytes = kMaxMessageBytes;
  // A connection without traffic is probed this often while calls wait; a peer that does not answer within
  // keepalive_timeout is gone (its calls fail with UNAVAILABLE).
  std::chrono::milliseconds keepalive_interval{20'000};
  std::chrono::milliseconds keepalive_timeout{10'000};
  // How fast a restarted server is found again.
  std::chrono::milliseconds longest_reconnect_delay{1'000};
  // Null: plaintext. Otherwise nobody but a `server_role` of this job is talked to.
  std::shared_ptr<const TransportSecurity> tls;
  pki::PeerRole server_role = pki::PeerRole::kServer;
  // Of a process that is told to end: from then on calls and waits of its clients end with CANCELLED at once. A
  // default token never asks.
  std::stop_token stop;
  // Counts the calls (call.h) that go through it. Null: nobody does.
  std::shared_ptr<CallMetrics> metrics;
};

// A channel; it connects on first use. The address is "host:port".
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, const ChannelSettings& settings);

// One server as its clients see it: where it is, how to reach it, how to retry. Immutable; thread-safe; shared by
// the calls in flight.
struct Peer {
  Peer(std::string peer_name, std::string peer_address, const ChannelSettings& settings);

  const std::string name;  // for messages: "graph server 1"
  const std::string address;
  const std::stop_token stop;                  // ends its calls
  const std::shared_ptr<CallMetrics> metrics;  // may be null
  const std::shared_ptr<grpc::Channel> channel;
  grpc::GenericStub stub;
  RetryPolicy retry{.max_attempts = 1'000'000};  // in effect bounded by each call's deadline
};

}  // namespace espalier::rpc
