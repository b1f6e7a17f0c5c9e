// How this trainer meets the others: over the ring, in plaintext or under mutual TLS.
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
  // Listens where the others look for this rank, so that the port can be told before anything else takes time.
  static Result<std::unique_ptr<TrainerGroup>> Listen(const TrainerFlags& flags,
                                                      std::shared_ptr<const rpc::TransportSecurity> tls);

  // Where all ranks meet, as rank 0 knows it: "host:port" with the port that was bound. Empty at other ranks, and
  // where there are none.
  const std::string& rendezvous() const { return rendezvous_; }
  // Returns when all are connected. Once.
  Result<std::unique_ptr<collective::Collective>> Connect(Deadline deadline);

 private:
  explicit TrainerGroup(const TrainerFlags& flags) : flags_(flags) {}
  Status ListenForOthers(std::shared_ptr<const rpc::TransportSecurity> tls);

  const TrainerFlags& flags_;
  std::string rendezvous_;
  std::unique_ptr<client::RingEndpoint> ring_;
};

}  // namespace espalier::trainer
