#include "services/client/ring/ring_endpoint.h"

#include <utility>

#include "espalier/collective/v1/ring.grpc.pb.h"
#include "services/client/ring/ring_rendezvous.h"
#include "services/rpc/address.h"
#include "services/rpc/call.h"

namespace espalier::client {
namespace {

constexpr const char* kJoin = "/espalier.collective.v1.Ring/Join";
// Timeout for the neighbors to read the last messages of this rank.
constexpr std::chrono::seconds kFarewellTimeout(10);
constexpr size_t kMaxRingMessageBytes = size_t{4} << 20;

using S = collective::v1::Ring;
using RawRing = S::WithRawCallbackMethod_Join<S::WithRawCallbackMethod_Pass<S::Service>>;

}  // namespace

class RingEndpoint::Service final : public RawRing {
 public:
  explicit Service(RingEndpoint& endpoint) : endpoint_(endpoint) {}

  grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override {
    if (endpoint_.rendezvous_ != nullptr) return endpoint_.rendezvous_->Join(request, reply);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status(
        grpc::StatusCode::FAILED_PRECONDITION,
        "trainer " + std::to_string(endpoint_.options_.rank.value) + " does not accept Join: send it to trainer 0"));
    return reactor;
  }
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Pass(grpc::CallbackServerContext*) override {
    return endpoint_.link_->AcceptStream();
  }

 private:
  RingEndpoint& endpoint_;
};

RingEndpoint::RingEndpoint(const RingOptions& options)
    : options_(options), link_(std::make_shared<RingLink>(options.rank, options.size)) {
  if (options.rank.value == 0) rendezvous_ = std::make_unique<RingRendezvous>(options.size, options.incarnation);
  service_ = std::make_unique<Service>(*this);
}

Result<std::unique_ptr<RingEndpoint>> RingEndpoint::Listen(const RingOptions& options) {
  if (options.rank.value >= options.size) {
    return InvalidArgument("rank " + std::to_string(options.rank.value) + " of " + std::to_string(options.size) +
                           " trainers; expected a rank below the number of trainers");
  }
  std::unique_ptr<RingEndpoint> endpoint(new RingEndpoint(options));
  rpc::ServerOptions server;
  server.listen = options.listen;
  server.allow_other_hosts = options.allow_other_hosts;
  server.tls = options.tls;
  server.callers = {pki::PeerRole::kTrainer};
  server.max_request_bytes = kMaxRingMessageBytes;
  ASSIGN_OR_RETURN(endpoint->server_, rpc::RpcServer::Start(server, {endpoint->service_.get()}));
  ASSIGN_OR_RETURN(rpc::HostPort at, rpc::ParseHostPort(endpoint->server_->address()));
  if (!options.advertised_host.empty()) at.host = options.advertised_host;
  endpoint->address_ = rpc::ToString(at);
  return endpoint;
}

RingEndpoint::~RingEndpoint() {
  if (rendezvous_ != nullptr) rendezvous_->Close();
  link_->Leave(Deadline::After(kFarewellTimeout));
  if (server_ != nullptr) server_->Drain(Deadline::After(std::chrono::seconds(1)));
}

rpc::ChannelSettings RingEndpoint::Channel() const {
  rpc::ChannelSettings settings;
  settings.tls = options_.tls;
  settings.server_role = pki::PeerRole::kTrainer;
  return settings;
}

Result<RingEndpoint::Group> RingEndpoint::Rendezvous(const std::string& rank0_address, Deadline deadline) {
  collective::v1::JoinResponse response;
  if (rendezvous_ != nullptr) {
    rendezvous_->AddOwn(address_);
    const std::stop_callback on_stop(options_.stop, [this] { rendezvous_->StopWaiting(); });
    ASSIGN_OR_RETURN(response, rendezvous_->AwaitAll(deadline));
  } else {
    collective::v1::JoinRequest request;
    request.set_rank(options_.rank.value);
    request.set_size(options_.size);
    request.set_incarnation(options_.incarnation);
    request.set_address(address_);
    rpc::ChannelSettings channel = Channel();
    channel.stop = options_.stop;
    ASSIGN_OR_RETURN(const grpc::ByteBuffer reply,
                     rpc::CallAndWait(std::make_shared<rpc::Peer>("trainer 0", rank0_address, channel), kJoin,
                                      rpc::EncodeFrame(std::move(request), {}), deadline));
    ASSIGN_OR_RETURN(rpc::Frame<collective::v1::JoinResponse> frame,
                     rpc::DecodeFrame<collective::v1::JoinResponse>(reply));
    response = std::move(frame.header);
  }
  if (static_cast<uint32_t>(response.addresses_size()) != options_.size) {
    return Internal("trainer 0 returned " + std::to_string(response.addresses_size()) + " addresses, expected " +
                    std::to_string(options_.size));
  }
  return Group{response.group(), {response.addresses().begin(), response.addresses().end()}};
}

Status RingEndpoint::Join(const std::string& rank0_address, Deadline deadline) {
  const Result<Group> group = Rendezvous(rank0_address, deadline);
  if (!group.ok()) return link_->Fail(group.status());
  const uint32_t next = (options_.rank.value + 1) % options_.size;
  link_->Connect(group->number,
                 std::make_shared<rpc::Peer>("trainer " + std::to_string(next), group->addresses[next], Channel()));
  return link_->AwaitPrevious(deadline);
}

}  // namespace espalier::client
