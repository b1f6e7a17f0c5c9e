// Listening port of a rank, and the rendezvous of all ranks: every rank listens, and every rank but 0 sends a
// JoinRequest to rank 0. When all ranks have joined, rank 0 responds with their addresses.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "services/client/ring/ring_host_watch.h"
#include "services/client/ring/ring_link.h"
#include "services/rpc/tls.h"

namespace espalier::client {

struct RingOptions {
  Rank rank;
  uint32_t size = 1;
  uint64_t incarnation = 0;  // must be the same for all ranks of a group
  std::string listen = "127.0.0.1:0";
  // Allows plaintext on an address that other hosts can reach. Not needed with TLS.
  bool allow_other_hosts = false;
  // Host name or IP address at which other ranks reach this rank; empty: the host of `listen`.
  std::string advertised_host;
  std::shared_ptr<const rpc::TransportSecurity> tls;  // null: plaintext
  // The host of the next rank counts as lost when it has not acknowledged sent data for this long.
  std::chrono::milliseconds host_timeout = kRingHostTimeout;
  // A stop request ends the wait for the other ranks with Cancelled. It does not affect a connected ring: a rank may
  // finish a step after the stop request.
  std::stop_token stop = {};
};

class RingListener;
class RingRendezvous;

// The endpoint of one rank. For one thread.
class RingEndpoint {
 public:
  // Returns an endpoint that listens on options.listen. InvalidArgument: the rank is not below the size, or the address
  // is invalid. FailedPrecondition: other hosts could connect without TLS and options.allow_other_hosts is not set.
  // Unavailable: the port is in use, or the address is not an address of this host. ResourceExhausted: the process has
  // no descriptors or threads left.
  static Result<std::unique_ptr<RingEndpoint>> Listen(const RingOptions& options);
  // Leaves the ring (RingLink::Leave). Blocks for about 10 seconds at most.
  ~RingEndpoint();

  // Returns the "host:port" at which other ranks reach this rank.
  const std::string& address() const { return address_; }
  const RingOptions& options() const { return options_; }
  RingLink& link() { return *link_; }

  // Blocks until all ranks have joined at rank 0 and both neighbors are connected. Rank 0 ignores `rank0_address`.
  // DeadlineExceeded, Unavailable: a rank is missing. Cancelled: RingOptions::stop or the deadline's stop was
  // requested. Aborted: rank 0 has a newer incarnation, or two processes have the same rank. InvalidArgument: rank 0
  // has another RingOptions::size, or an address is invalid. ResourceExhausted: the process has no descriptors left.
  Status Join(const std::string& rank0_address, const Deadline& deadline);

 private:
  // The response of rank 0.
  struct Group {
    uint64_t number = 0;                 // random; the same on all ranks
    std::vector<std::string> addresses;  // by rank
  };

  RingEndpoint(const RingOptions& options, std::unique_ptr<RingLink> link);
  Result<Group> Rendezvous(const std::string& rank0_address, const Deadline& deadline);

  const RingOptions options_;
  std::string address_;
  const std::unique_ptr<RingTls> tls_;  // null: plaintext
  const std::unique_ptr<RingLink> link_;
  const std::unique_ptr<RingRendezvous> rendezvous_;  // null if this is not rank 0
  std::unique_ptr<RingListener> listener_;            // last: its thread uses the members above
};

}  // namespace espalier::client
