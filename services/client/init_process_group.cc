// Rank 0 publishes its address in a U8 tensor with a single row (RowSpace::Own(1)), padded with zeros. Before it
// creates the tensor, it drops one that an earlier, killed rank 0 may have created. It drops its tensor when the group
// is connected or has failed. The other ranks poll the tensor with increasing, jittered delays. They ignore a tensor
// that has no address yet or that disappears while they read it, because rank 0 may be replacing it.
#include "services/client/init_process_group.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "services/base/backoff.h"
#include "services/base/host_port.h"
#include "services/client/ring/ring_collective.h"
#include "services/client/tensors/dist_tensor.h"
#include "services/collective/self_collective.h"

namespace espalier::client {
namespace {

constexpr const char* kRendezvousName = "espalier.rendezvous";
constexpr int64_t kAddressBytes = 512;  // padded with zeros; a host name has at most 255

// Owns the tensor with the address of rank 0; the destructor drops it.
class RendezvousTensor {
 public:
  RendezvousTensor(sampler::PartitionedTensors& tensors, sampler::TensorHandle tensor)
      : tensors_(tensors), tensor_(std::move(tensor)) {}
  ~RendezvousTensor() {
    if (tensor_.made_by_this) tensors_.DropLater(tensor_.id);
  }
  RendezvousTensor(const RendezvousTensor&) = delete;
  RendezvousTensor& operator=(const RendezvousTensor&) = delete;

  Status PublishAddress(const std::string& address, Deadline deadline) {
    Tensor row = Tensor::Zeros(DType::kU8, {1, kAddressBytes});
    std::memcpy(row.mutable_bytes(), address.data(), address.size());
    const GlobalRowId first(0);
    return NotFoundToUnavailable(tensors_.Write(tensor_, sampler::RowWrite::kAssign, {&first, 1}, row, deadline));
  }

 private:
  sampler::PartitionedTensors& tensors_;  // outlives this
  const sampler::TensorHandle tensor_;
};

// Publishes the address of rank 0 in a tensor that exists as long as the returned object.
Result<std::unique_ptr<RendezvousTensor>> Announce(const DistGraph& graph, const std::string& address,
                                                   Deadline deadline) {
  if (address.size() >= static_cast<size_t>(kAddressBytes))
    return InvalidArgument("the address of rank 0, " + address + ", is too long: expected fewer than " +
                           std::to_string(kAddressBytes) + " bytes");
  sampler::PartitionedTensors& tensors = graph.partitions().tensors();
  // Drop the tensor of an earlier rank 0 that was killed during the rendezvous.
  RETURN_IF_ERROR(tensors.Drop({RowSpace::Own(), kRendezvousName, {}}, deadline));
  sampler::TensorSpec spec;
  spec.id.rows = RowSpace::Own(1);
  spec.id.name = kRendezvousName;
  spec.dtype = DType::kU8;
  spec.row_shape = {kAddressBytes};
  ASSIGN_OR_RETURN(sampler::TensorHandle tensor, NotFoundToUnavailable(tensors.Create(spec, deadline)));
  auto rendezvous = std::make_unique<RendezvousTensor>(tensors, std::move(tensor));
  RETURN_IF_ERROR(rendezvous->PublishAddress(address, deadline));
  return rendezvous;
}

// Returns the address of rank 0, or an empty string if it is not published yet.
Result<std::string> ReadAddress(const DistGraph& graph, Deadline deadline) {
  sampler::PartitionedTensors& tensors = graph.partitions().tensors();
  const Result<sampler::TensorHandle> tensor = tensors.Find({RowSpace::Own(), kRendezvousName, {}}, deadline);
  if (!tensor.ok()) {
    const bool not_found = tensor.status().code() == StatusCode::kNotFound;
    return not_found ? Result<std::string>(std::string()) : Result<std::string>(tensor.status());
  }
  if (tensor->dtype != DType::kU8 || tensor->row_shape != std::vector<int64_t>{kAddressBytes} ||
      tensors.NumRows(tensor->id.rows) != 1) {
    return FailedPrecondition(std::string("the tensor '") + kRendezvousName +
                              "' exists, but is not the address of rank 0: drop it and restart the program");
  }
  const GlobalRowId first(0);
  const Result<Tensor> row = tensors.Read(*tensor, {&first, 1}, deadline);
  // Rank 0 may have dropped the tensor after Find, to replace it.
  if (row.status().code() == StatusCode::kNotFound) return std::string();
  if (!row.ok()) return row.status();
  const char* const text = reinterpret_cast<const char*>(row->bytes());
  return std::string(text, strnlen(text, kAddressBytes));
}

// Polls the tensor until it has the address of rank 0.
Result<std::string> AwaitAddress(const DistGraph& graph, const Context& context, Deadline deadline) {
  const RetryPolicy polling{
      .max_attempts = 0, .initial_delay = std::chrono::milliseconds(10), .max_delay = std::chrono::milliseconds(500)};
  std::minstd_rand jitter(context.rank.value + 1);
  for (int attempt = 1;; ++attempt) {
    ASSIGN_OR_RETURN(std::string address, ReadAddress(graph, deadline));
    if (!address.empty()) return address;
    if (context.session.channel.stop.stop_requested() || deadline.stop().stop_requested())
      return Cancelled("stopped while waiting for the address of rank 0");
    const std::chrono::nanoseconds delay = DelayBefore(attempt, polling, static_cast<uint32_t>(jitter()));
    Clock::Real().SleepFor(std::min(delay, deadline.Remaining()));
    if (deadline.HasPassed()) return DeadlineExceeded("rank 0 did not publish its address before the deadline");
  }
}

}  // namespace

Result<std::unique_ptr<collective::Collective>> InitProcessGroup(const DistGraph& graph, const Context& context,
                                                                 Deadline deadline) {
  if (context.world_size == 1) return std::unique_ptr<collective::Collective>(new collective::SelfCollective());
  RingOptions options;
  options.rank = context.rank;
  options.size = context.world_size;
  options.incarnation = context.session.incarnation.value_or(0);
  options.listen = ToString(HostPort{context.local_address, 0});
  options.allow_other_hosts = context.plaintext_to_others;
  options.tls = context.session.channel.tls;
  options.stop = context.session.channel.stop;
  ASSIGN_OR_RETURN(std::unique_ptr<RingEndpoint> endpoint, RingEndpoint::Listen(options));
  if (context.rank.value > 0) {
    ASSIGN_OR_RETURN(const std::string address,
                     AwaitAddress(graph, context, deadline).While("joining the process group"));
    return ConnectRing(std::move(endpoint), address, deadline);
  }
  const std::string address = endpoint->address();
  ASSIGN_OR_RETURN(const std::unique_ptr<RendezvousTensor> rendezvous,
                   Announce(graph, address, deadline).While("publishing the address of rank 0"));
  return ConnectRing(std::move(endpoint), address, deadline);
}

}  // namespace espalier::client
