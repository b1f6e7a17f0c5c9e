// Whom a call asks: one server, or any of those that give the same answers.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "services/base/check.h"
#include "services/rpc/channel.h"
#include "services/rpc/replica_choice.h"

namespace espalier::rpc {

// Servers that give the same answers. Thread-safe; shared by the calls in flight.
struct Replicas {
  // One or more, with the same stop and metrics; `near` says of each whether it runs on this machine.
  Replicas(std::vector<std::shared_ptr<Peer>> servers, std::vector<bool> near, ReplicaRest rest = {})
      : peers(std::move(servers)), choice(std::move(near), rest) {
    ESPALIER_CHECK(peers.size() == choice.size()) << "servers and what is known of them differ in number";
  }

  const std::vector<std::shared_ptr<Peer>> peers;
  ReplicaChoice choice;
};

// Either converts to it: who has one server passes that.
class Callee {
 public:
  Callee(std::shared_ptr<Peer> peer) : peer_(std::move(peer)) {}
  Callee(std::shared_ptr<Replicas> replicas) : replicas_(std::move(replicas)), peer_(replicas_->peers.front()) {}

  const std::shared_ptr<Replicas>& replicas() const { return replicas_; }  // null: there is one server
  const std::shared_ptr<Peer>& peer() const { return peer_; }              // the one, or the first

 private:
  std::shared_ptr<Replicas> replicas_;
  std::shared_ptr<Peer> peer_;
};

}  // namespace espalier::rpc
