// Join has three steps. The rendezvous returns the addresses of all ranks and the random number of the group. The rank
// connects to the next rank and greets it with that number. It then waits for the connection of the previous rank:
// the listener's thread reads that rank's greeting and passes the connection to the link. An error in any step fails
// the link, so every later operation returns it.
#include "services/client/ring/ring_endpoint.h"

#include <utility>

#include "services/base/host_port.h"
#include "services/client/ring/ring_connect.h"
#include "services/client/ring/ring_listener.h"
#include "services/client/ring/ring_rendezvous.h"
#include "services/rpc/server.h"

namespace espalier::client {
namespace {

// Timeout for the hosts of the neighbors to receive the last messages of this rank.
constexpr std::chrono::seconds kFarewellTimeout(10);

}  // namespace

RingEndpoint::RingEndpoint(const RingOptions& options, std::unique_ptr<RingLink> link)
    : options_(options),
      tls_(options.tls == nullptr ? nullptr : std::make_unique<RingTls>(options.tls->settings())),
      link_(std::move(link)),
      rendezvous_(options.rank.value == 0 ? std::make_unique<RingRendezvous>(options.size, options.incarnation)
                                          : nullptr) {}

Result<std::unique_ptr<RingEndpoint>> RingEndpoint::Listen(const RingOptions& options) {
  if (options.rank.value >= options.size) {
    return InvalidArgument("rank " + std::to_string(options.rank.value) + " of " + std::to_string(options.size) +
                           " trainers; expected a rank below the number of trainers");
  }
  rpc::ServerOptions server;
  server.listen = options.listen;
  server.allow_other_hosts = options.allow_other_hosts;
  server.tls = options.tls;
  RETURN_IF_ERROR(rpc::CheckListenAddress(server));
  ASSIGN_OR_RETURN(HostPort address, ParseHostPort(options.listen));
  ASSIGN_OR_RETURN(std::unique_ptr<RingLink> link, RingLink::Make(options.rank, options.size, options.host_timeout));
  std::unique_ptr<RingEndpoint> endpoint(new RingEndpoint(options, std::move(link)));
  ASSIGN_OR_RETURN(endpoint->listener_,
                   RingListener::Start(address, endpoint->tls_.get(), endpoint->link(), endpoint->rendezvous_.get()));
  address.port = endpoint->listener_->port();
  if (!options.advertised_host.empty()) address.host = options.advertised_host;
  endpoint->address_ = ToString(address);
  return endpoint;
}

RingEndpoint::~RingEndpoint() { link_->Leave(Deadline::After(kFarewellTimeout)); }

Result<RingEndpoint::Group> RingEndpoint::Rendezvous(const std::string& rank0_address, const Deadline& deadline) {
  collective::v1::JoinResponse response;
  if (rendezvous_ != nullptr) {
    rendezvous_->AddOwn(address_);
    const std::stop_callback on_stop(options_.stop, [this] { rendezvous_->StopWaiting(); });
    ASSIGN_OR_RETURN(response, rendezvous_->AwaitAll(deadline));
    listener_->RespondToJoins();
  } else {
    collective::v1::JoinRequest request;
    request.set_rank(options_.rank.value);
    request.set_size(options_.size);
    request.set_incarnation(options_.incarnation);
    request.set_address(address_);
    ASSIGN_OR_RETURN(response, JoinAtRank0(rank0_address, request, tls_.get(), RingWait(deadline, options_.stop)));
  }
  if (static_cast<uint32_t>(response.addresses_size()) != options_.size) {
    return Internal("trainer 0 returned " + std::to_string(response.addresses_size()) + " addresses, expected " +
                    std::to_string(options_.size));
  }
  return Group{response.group(), {response.addresses().begin(), response.addresses().end()}};
}

Status RingEndpoint::Join(const std::string& rank0_address, const Deadline& deadline) {
  const Result<Group> group = Rendezvous(rank0_address, deadline);
  if (!group.ok()) return link_->Fail(group.status());
  const Rank next((options_.rank.value + 1) % options_.size);
  Result<RingSocket> connected =
      ConnectToRank(next, group->addresses[next.value], tls_.get(), RingWait(deadline, options_.stop));
  if (!connected.ok()) return link_->Fail(connected.status());
  RETURN_IF_ERROR(link_->Connect(group->number, *std::move(connected), deadline));
  return link_->AwaitPrevious(group->number, RingWait(deadline, options_.stop));
}

}  // namespace espalier::client
