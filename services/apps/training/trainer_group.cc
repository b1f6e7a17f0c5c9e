#include "services/apps/training/trainer_group.h"

#include "services/client/ring/ring_collective.h"
#include "services/collective/self_collective.h"
#include "services/rpc/address.h"

namespace espalier::training {

bool UsesRing(const TrainerFlags& flags) {
  return flags.collective == "ring" || (flags.collective == "auto" && flags.tls.any());
}

Result<std::unique_ptr<TrainerGroup>> TrainerGroup::Listen(const TrainerFlags& flags,
                                                           std::shared_ptr<const rpc::TransportSecurity> tls) {
  std::unique_ptr<TrainerGroup> group(new TrainerGroup(flags));
  if (flags.world_size == 1) return group;
  RETURN_IF_ERROR(UsesRing(flags) ? group->ListenForRing(std::move(tls)) : group->ListenForGloo());
  return group;
}

Status TrainerGroup::ListenForGloo() {
  if (flags_.rank > 0) return Status();
  ASSIGN_OR_RETURN(const rpc::HostPort at, rpc::ParseHostPort(flags_.rendezvous));
  // Its own address, where it was told: the name that others know it by may not be in DNS yet.
  const std::string& own_host = flags_.local_address.empty() ? at.host : flags_.local_address;
  ASSIGN_OR_RETURN(gloo_, trainer::Rendezvous::Host(own_host, at.port));
  rendezvous_ = rpc::ToString(rpc::HostPort{at.host, gloo_->port()});
  return Status();
}

Status TrainerGroup::ListenForRing(std::shared_ptr<const rpc::TransportSecurity> tls) {
  ASSIGN_OR_RETURN(const rpc::HostPort meeting, rpc::ParseHostPort(flags_.rendezvous));
  client::RingOptions options;
  options.rank = Rank(flags_.rank);
  options.size = flags_.world_size;
  options.incarnation = flags_.incarnation;
  options.tls = std::move(tls);
  options.allow_other_hosts = flags_.insecure_listen_any;
  options.advertised_host = flags_.local_address;
  if (!flags_.ring_listen.empty()) {
    options.listen = flags_.ring_listen;
  } else if (flags_.rank == 0) {
    options.listen = flags_.rendezvous;
  } else {
    std::string host = flags_.local_address;
    if (host.empty()) {
      ASSIGN_OR_RETURN(host, rpc::LocalAddressFacing(meeting.host));
    }
    options.listen = rpc::ToString(rpc::HostPort{host, 0});
  }
  ASSIGN_OR_RETURN(ring_, client::RingEndpoint::Listen(options));
  if (flags_.rank > 0) return Status();
  // The others know rank 0 by the name they were given, whatever it listens on.
  ASSIGN_OR_RETURN(const rpc::HostPort bound, rpc::ParseHostPort(ring_->address()));
  rendezvous_ = rpc::ToString(rpc::HostPort{meeting.host, bound.port});
  return Status();
}

Result<std::unique_ptr<collective::Collective>> TrainerGroup::Connect(Deadline deadline) {
  if (flags_.world_size == 1) return std::unique_ptr<collective::Collective>(new collective::SelfCollective());
  if (ring_ != nullptr) return client::ConnectRing(std::move(ring_), flags_.rendezvous, deadline);
  if (gloo_ == nullptr) {
    ASSIGN_OR_RETURN(const rpc::HostPort at, rpc::ParseHostPort(flags_.rendezvous));
    ASSIGN_OR_RETURN(gloo_, trainer::Rendezvous::Join(at.host, at.port, deadline));
  }
  const trainer::GlooOptions options{Rank(flags_.rank), flags_.world_size, flags_.local_address,
                                     std::to_string(flags_.incarnation)};
  return trainer::ConnectGloo(std::move(gloo_), options, deadline);
}

}  // namespace espalier::training
