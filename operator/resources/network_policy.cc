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

// Appends the ports of `containers` containers of a pod.
void AppendPorts(int first, uint32_t containers, std::vector<int>* ports) {
  for (int number = 0; number < static_cast<int>(containers); ++number) ports->push_back(first + number);
}

}  // namespace

// Allows connections among the job's pods, and from anywhere to the admin ports (probes, metrics). Outgoing connections
// are not restricted, because a policy cannot name the addresses of object storage.
Json NetworkPolicy(const Context& context) {
  const Json pods = {{"matchLabels", MakeSelector(context.training)}};
  Json among_pods = {{"from", Json::array({{{"podSelector", pods}}})}};
  const api::Spec& spec = *context.training.spec;
  // For a user's program there is no list, so that all ports are allowed: its ranks listen on free ports
  // (client::InitProcessGroup).
  if (!spec.job.program.has_value()) {
    std::vector<int> ports;
    AppendPorts(kServerPort, spec.job.server_containers_per_pod, &ports);
    ports.push_back(kSamplerPort);
    AppendPorts(kTrainerPort, spec.job.trainer_containers_per_pod, &ports);
    among_pods["ports"] = Ports(ports);
  }
  std::vector<int> admin_ports;
  AppendPorts(kAdminPort, MostContainersPerPod(spec), &admin_ports);

  Json policy =
      MakeChild(context, kube::kNetworkPolicies, NetworkPolicyName(context.training.meta.key.name), kSharedComponent);
  policy["spec"] = {{"podSelector", pods},
                    {"policyTypes", Json::array({"Ingress"})},
                    {"ingress", Json::array({among_pods, {{"ports", Ports(admin_ports)}}})}};
  return policy;
}

}  // namespace espalier::ctl::resources
