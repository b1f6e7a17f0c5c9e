#include "operator/resources/child.h"
#include "operator/resources/names.h"

namespace espalier::ctl::resources {

using kube::Json;

namespace {

// Returns one entry per port, because not every network plugin supports ranges.
Json Ports(const std::vector<int>& numbers) {
  Json ports = Json::array();
  for (const int number : numbers) ports.push_back({{"port", number}, {"protocol", "TCP"}});
  return ports;
}

// Returns the ports of the servers in a pod.
std::vector<int> PortsFrom(int first, const job::DistTraining& job) {
  std::vector<int> ports;
  for (int number = 0; number < static_cast<int>(job.server_containers_per_pod); ++number) {
    ports.push_back(first + number);
  }
  return ports;
}

}  // namespace

// Allows connections among the job's pods, and from anywhere to the admin ports (probes, metrics). Outgoing connections
// are not restricted, because a policy cannot name the addresses of object storage.
Json NetworkPolicy(const Context& context) {
  const Json pods = {{"matchLabels", MakeSelector(context.training)}};
  Json among_pods = {{"from", Json::array({{{"podSelector", pods}}})}};
  const api::Spec& spec = *context.training.spec;
  // All ports for programs of users, whose ranks listen on free ports (client::InitProcessGroup).
  if (!spec.job.program.has_value()) {
    std::vector<int> ports = PortsFrom(kServerPort, spec.job);
    ports.insert(ports.end(), {kSamplerPort, kTrainerPort});
    among_pods["ports"] = Ports(ports);
  }

  Json policy =
      MakeChild(context, kube::kNetworkPolicies, NetworkPolicyName(context.training.meta.key.name), kSharedComponent);
  policy["spec"] = {{"podSelector", pods},
                    {"policyTypes", Json::array({"Ingress"})},
                    {"ingress", Json::array({among_pods, {{"ports", Ports(PortsFrom(kAdminPort, spec.job))}}})}};
  return policy;
}

}  // namespace espalier::ctl::resources
