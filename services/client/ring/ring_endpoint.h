// Where a trainer's ring is reached, and how trainers find each other: all listen, all ask rank 0, and when everybody
// has asked, everybody is told all addresses.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "services/client/ring/ring_link.h"
#include "services/rpc/server.h"

namespace espalier::client {

struct RingOptions {
  Rank rank;
  uint32_t size = 1;
  uint64_t incarnation = 0;  // ranks of different incarnations never meet
  std::string listen = "127.0.0.1:0";
  // Plaintext on an address that other machines reach (with TLS that needs no leave).
  bool allow_other_hosts = false;
  // Under which the others reach this machine; empty: the host of `listen`.
  std::string advertised_host;
  std::shared_ptr<const rpc::TransportSecurity> tls;  // null: plaintext
  // Ends the wait for the other ranks with Cancelled. What has been connected goes on: who is told to end may finish a
  // step with the others.
  std::stop_token stop = {};
};

// The ranks that have asked so far, at rank 0.
class RingRoll;

// A trainer's port. Owned by one thread.
class RingEndpoint {
 public:
  // InvalidArgument: a rank beyond the group, an address that is none; otherwise as RpcServer::Start.
  static Result<std::unique_ptr<RingEndpoint>> Listen(const RingOptions& options);
  // Says farewell to the neighbours.
  ~RingEndpoint();

  // "host:port" for the others.
  const std::string& address() const { return address_; }
  const RingOptions& options() const { return options_; }
  RingLink& link() { return *link_; }

  // Returns when all ranks have joined rank 0 at `rank0_address` (rank 0 itself ignores it) and the neighbours are
  // connected.
  Status Join(const std::string& rank0_address, Deadline deadline);

 private:
  class Service;
  struct Group {
    uint64_t number = 0;
    std::vector<std::string> addresses;  // by rank
  };

  explicit RingEndpoint(const RingOptions& options);
  Result<Group> Gather(const std::string& rank0_address, Deadline deadline);
  rpc::ChannelSettings Channel() const;

  const RingOptions options_;
  std::string address_;
  const std::shared_ptr<RingLink> link_;
  std::unique_ptr<RingRoll> roll_;  // of rank 0; null elsewhere
  std::unique_ptr<Service> service_;
  std::unique_ptr<rpc::RpcServer> server_;  // last: drains before what it calls goes away
};

}  // namespace espalier::client
