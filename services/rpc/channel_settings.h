// Settings of connections to servers. Does not include gRPC: these settings are part of the client's options.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>

#include "services/pki/peer_identity.h"
#include "services/rpc/limits.h"

namespace espalier::rpc {

class CallMetrics;
class TransportSecurity;

struct ChannelSettings {
  size_t max_message_bytes = kMaxMessageBytes;
  // Interval of keepalive pings on a connection without traffic while calls are pending. A peer that does not answer
  // within keepalive_timeout counts as lost: calls to it fail with UNAVAILABLE.
  std::chrono::milliseconds keepalive_interval{20'000};
  std::chrono::milliseconds keepalive_timeout{10'000};
  // Upper bound of the delay between attempts to reconnect.
  std::chrono::milliseconds longest_reconnect_delay{1'000};
  // Null: plaintext. Otherwise only processes of this job with the role `server_role` are accepted as servers.
  std::shared_ptr<const TransportSecurity> tls;
  pki::PeerRole server_role = pki::PeerRole::kServer;
  // When a stop is requested, all calls, pending and later ones, end at once with CANCELLED. Default: never.
  std::stop_token stop;
  // Counts calls (call_metrics.h). Null: calls are not counted.
  std::shared_ptr<CallMetrics> metrics;
};

}  // namespace espalier::rpc
