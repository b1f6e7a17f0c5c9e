#include "operator/resources/addresses.h"

#include "operator/resources/names.h"

namespace espalier::ctl::resources {
namespace {

std::string MakeHost(const Context& context, const std::string& pod) {
  const kube::ObjectKey& job = context.training.meta.key;
  return pod + "." + ServiceName(job.name) + "." + job.name_space + ".svc." + context.cluster_domain;
}

std::string MakeAddress(const Context& context, const std::string& pod, int port) {
  return MakeHost(context, pod) + ":" + std::to_string(port);
}

std::string MakeAddresses(const Context& context, const std::string& set, uint32_t count, int port) {
  if (count == 0) return "";
  return MakeAddress(context, set + (count == 1 ? "-0" : "-[0-" + std::to_string(count - 1) + "]"), port);
}

}  // namespace

// The first containers of replica 0 come first: only the first server of each partition holds writable data.
std::string ServerAddresses(const Context& context) {
  const job::DistTraining& job = context.training.spec->job;
  std::string joined;
  for (uint32_t replica = 0; replica < job.server_replicas_per_partition; ++replica) {
    const std::string set = ServerSetName(context.training.meta.key.name, replica);
    for (int container = 0; container < static_cast<int>(job.server_containers_per_pod); ++container) {
      if (!joined.empty()) joined += "|";
      joined += MakeAddresses(context, set, job.graph.partitions.count, kServerPort + container);
    }
  }
  return joined;
}

std::string SamplerAddresses(const Context& context) {
  return MakeAddresses(context, SamplerSetName(context.training.meta.key.name),
                       context.training.spec->job.sampler_replicas, kSamplerPort);
}

std::string Rank0Host(const Context& context) {
  return MakeHost(context, TrainerJobName(context.training.meta.key.name, context.status.incarnation) + "-0");
}

std::string RendezvousAddress(const Context& context) {
  return Rank0Host(context) + ":" + std::to_string(kTrainerPort);
}

std::string WildcardHost(const Context& context) { return MakeHost(context, "*"); }

}  // namespace espalier::ctl::resources
