#include "services/client/ring/ring_endpoint.h"

#include <utility>

#include "espalier/collective/v1/ring.grpc.pb.h"
#include "services/client/ring/ring_roll.h"
#include "services/rpc/address.h"
#include "services/rpc/call.h"

namespace espalier::client {
namespace {

constexpr const char* kJoin = "/espalier.collective.v1.Ring/Join";
// From the farewell to giving up on a neighbour that does not read it.
constexpr std::chrono::seconds kFarewellTime(10);
constexpr size_t kMaxRingMessageBytes = size_t{4} << 20;

using S = collective::v1::Ring;
using RawRing = S::WithRawCallbackMethod_Join<S::WithRawCallbackMethod_Pass<S::Service>>;

}  // namespace

class RingEndpoint::Service final : public RawRing {
 public:
  explicit Service(RingEndpoint& endpoint) : endpoint_(endpoint) {}

  grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* reply) override {
    if (endpoint_.roll_ != nullptr) return endpoint_.roll_->Join(request, reply);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status(
        grpc::StatusCode::FAILED_PRECONDITION,
        "trainer " + std::to_string(endpoint_.options_.rank.value) + " keeps no roll: trainers join trainer 0"));
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
  if (options.rank.value == 0) roll_ = std::make_unique<RingRoll>(options.size, options.incarnation);
  service_ = std::make_unique<Service>(*this);
}

Result<std::unique_ptr<RingEndpoint>> RingEndpoint::Listen(const RingOptions& options) {
  if (options.rank.value >= options.size) {
    return InvalidArgument("rank " + std::to_string(options.rank.value) + " of " + std::to_string(options.size) +
                           " trainers; expected a smaller one");
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
  if (roll_ != nullptr) roll_->Close();
  link_->Leave(Deadline::After(kFarewellTime));
  if (server_ != nullptr) server_->Drain(Deadline::After(std::chrono::seconds(1)));
}

rpc::ChannelSettings RingEndpoint::Channel() const {
  rpc::ChannelSettings settings;
  settings.tls = options_.tls;
  settings.server_role = pki::PeerRole::kTrainer;
  return settings;
}

Result<RingEndpoint::Group> RingEndpoint::Gather(const std::string& rank0_address, Deadline deadline) {
  collective::v1::JoinResponse response;
  if (roll_ != nullptr) {
    roll_->AddOwn(address_);
    const std::stop_callback on_stop(options_.stop, [this] { roll_->StopWaiting(); });
    ASSIGN_OR_RETURN(response, roll_->AwaitAll(deadline));
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
    return Internal("trainer 0 knows " + std::to_string(response.addresses_size()) + " addresses of " +
                    std::to_string(options_.size));
  }
  return Group{response.group(), {response.addresses().begin(), response.addresses().end()}};
}

Status RingEndpoint::Join(const std::string& rank0_address, Deadline deadline) {
  const Result<Group> group = Gather(rank0_address, deadline);
  if (!group.ok()) return link_->Fail(group.status());
  const uint32_t next = (options_.rank.value + 1) % options_.size;
  link_->Connect(group->number,
                 std::make_shared<rpc::Peer>("trainer " + std::to_string(next), group->addresses[next], Channel()));
  return link_->AwaitPrevious(deadline);
}

}  // namespace espalier::client
