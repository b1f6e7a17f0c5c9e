// The all-reduce of trainers that are processes: Gloo over TCP, rendezvous through c10d's TCPStore. (Gloo itself
// rather than c10d's ProcessGroupGloo, whose timeout belongs to the group: here every call has its own deadline.)
//
// Flow: rank 0 hosts a rendezvous, whose port the others must be told; every rank connects; once all are connected
// the rendezvous closes. Guarantees: a killed peer gives the others Unavailable within a second, a stopped one
// DeadlineExceeded at the deadline; either way the connections close at once, so that nobody waits for the dead.
// Caveats: no TLS, and TCPStore listens on all addresses, unauthenticated, until everybody has connected. Gloo writes
// to sockets whose peer may be gone: the process must ignore SIGPIPE (telemetry/process.h does).
#pragma once

#include <memory>
#include <string>

#include "services/collective/collective.h"

namespace c10d {
class TCPStore;
}

namespace espalier::trainer {

// Where ranks find each other. Owned by one thread.
class Rendezvous {
 public:
  // Listens on `port`; 0 picks a free one. `host` is the name under which this machine reaches itself.
  static Result<std::unique_ptr<Rendezvous>> Host(const std::string& host, uint16_t port);
  // Waits for the host to come up until the deadline.
  static Result<std::unique_ptr<Rendezvous>> Join(const std::string& host, uint16_t port, Deadline deadline);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  uint16_t port() const;

 private:
  friend Result<std::unique_ptr<collective::Collective>> ConnectGloo(std::unique_ptr<Rendezvous>,
                                                                     const struct GlooOptions&, Deadline);
  Rendezvous(std::string host, std::unique_ptr<c10d::TCPStore> store);
  const std::string host_;
  const std::unique_ptr<c10d::TCPStore> store_;
};

struct GlooOptions {
  Rank rank;
  uint32_t size = 1;
  // The address to listen on and to be reached at; empty: the one that faces the rendezvous host (the loopback
  // address when that is this machine's loopback).
  std::string local_address;
  // Ranks of different groups never meet, even at one rendezvous: the job's incarnation.
  std::string group;
};

// Returns when all ranks are connected.
Result<std::unique_ptr<collective::Collective>> ConnectGloo(std::unique_ptr<Rendezvous> rendezvous,
                                                            const GlooOptions& options, Deadline deadline);

}  // namespace espalier::trainer
