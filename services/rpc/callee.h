// Target of a call: one server, or any of several replicas.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/rpc/channel.h"
#include "services/rpc/replica_choice.h"

namespace espalier::rpc {

// Servers that return the same responses. Thread-safe; shared by the calls in flight.
struct Replicas {
  // `servers`: at least one, all with the same stop token and metrics. near[i] is whether server i runs on this
  // machine.
  Replicas(std::vector<std::shared_ptr<Peer>> servers, std::vector<bool> near, ReplicaBackoff backoff = {})
      : peers(std::move(servers)), choice(std::move(near), backoff) {
    ESPALIER_CHECK(peers.size() == choice.size()) << "`servers` and `near` must have the same length";
  }

  const std::vector<std::shared_ptr<Peer>> peers;
  ReplicaChoice choice;
};

// Converts implicitly from a Peer and from Replicas, so that functions accept either.
class Callee {
 public:
  // NOLINTBEGIN(google-explicit-constructor)
  Callee(std::shared_ptr<Peer> peer) : peer_(std::move(peer)) {}
  Callee(std::shared_ptr<Replicas> replicas) : replicas_(std::move(replicas)), peer_(replicas_->peers.front()) {}
  // NOLINTEND(google-explicit-constructor)

  const std::shared_ptr<Replicas>& replicas() const { return replicas_; }  // null if there is one server
  const std::shared_ptr<Peer>& peer() const { return peer_; }              // the only or first server

 private:
  std::shared_ptr<Replicas> replicas_;
  std::shared_ptr<Peer> peer_;
};

}  // namespace espalier::rpc
