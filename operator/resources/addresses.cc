#include "operator/resources/addresses.h"

#include "operator/resources/names.h"

namespace espalier::ctl::resources {
namespace {

std::string HostOf(const Context& context, const std::string& pod) {
  const kube::ObjectKey& job = context.training.meta.key;
  return pod + "." + ServiceName(job.name) + "." + job.name_space + ".svc." + context.cluster_domain;
}

std::string AddressOf(const Context& context, const std::string& owner, int64_t ordinal, int port) {
  return HostOf(context, owner + "-" + std::to_string(ordinal)) + ":" + std::to_string(port);
}

}  // namespace

// Clients know one server for each partition: that of the first group.
std::vector<std::string> ServerAddresses(const Context& context) {
  const std::string set = ServerSetName(context.training.meta.key.name, 0);
  std::vector<std::string> addresses;
  for (uint32_t partition = 0; partition < context.training.spec->job.graph.partitions.count; ++partition) {
    addresses.push_back(AddressOf(context, set, partition, kServerPort));
  }
  return addresses;
}

std::vector<std::string> SamplerAddresses(const Context& context) {
  const std::string set = SamplerSetName(context.training.meta.key.name);
  std::vector<std::string> addresses;
  for (uint32_t sampler = 0; sampler < context.training.spec->job.sampler_replicas; ++sampler) {
    addresses.push_back(AddressOf(context, set, sampler, kSamplerPort));
  }
  return addresses;
}

std::string RendezvousAddress(const Context& context) {
  return AddressOf(context, TrainerJobName(context.training.meta.key.name, context.status.incarnation), 0,
                   kTrainerPort);
}

std::string Joined(const std::vector<std::string>& addresses) {
  std::string joined;
  for (const std::string& address : addresses) joined += (joined.empty() ? "" : ",") + address;
  return joined;
}

std::string WildcardHost(const Context& context) { return HostOf(context, "*"); }

}  // namespace espalier::ctl::resources
