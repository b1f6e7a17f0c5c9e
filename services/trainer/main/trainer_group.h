// Connects a trainer with the others of its job: over the ring, in plaintext or with mutual TLS.
#pragma once

#include <memory>
#include <string>

#include "services/client/ring/ring_endpoint.h"
#include "services/collective/collective.h"
#include "services/trainer/main/trainer_flags.h"

namespace espalier::trainer {

// Owned by one thread.
class TrainerGroup {
 public:
  // Listens on this rank's port of the ring, so that the port is known before slower work begins. Does nothing if the
  // world size is 1. `flags` must outlive the group.
  static Result<std::unique_ptr<TrainerGroup>> Listen(const TrainerFlags& flags,
                                                      std::shared_ptr<const rpc::TransportSecurity> tls);

  // Returns the address of the rendezvous at rank 0: "host:port" with the bound port. Empty at other ranks, and if the
  // world size is 1.
  const std::string& rendezvous() const { return rendezvous_; }
  // Blocks until all ranks are connected. Call once.
  Result<std::unique_ptr<collective::Collective>> Connect(Deadline deadline);

 private:
  explicit TrainerGroup(const TrainerFlags& flags) : flags_(flags) {}
  Status ListenForOthers(std::shared_ptr<const rpc::TransportSecurity> tls);

  const TrainerFlags& flags_;
  std::string rendezvous_;
  std::unique_ptr<client::RingEndpoint> ring_;
};

}  // namespace espalier::trainer
