#include <utility>

#include "operator/resources/child.h"
#include "operator/resources/names.h"

namespace espalier::ctl::resources {

using kube::Json;

// A headless service that gives every pod a DNS name. It publishes pods that are not ready, because trainers connect to
// each other before they are ready.
Json Service(const Context& context) {
  Json ports = Json::array();
  const auto add = [&](const std::string& name, int number) {
    ports.push_back({{"name", name}, {"port", number}, {"targetPort", number}, {"protocol", "TCP"}});
  };
  const auto add_per_container = [&](const std::string& name, int first, uint32_t containers) {
    for (uint32_t i = 0; i < containers; ++i) add(PortName(name, i), first + static_cast<int>(i));
  };
  const api::Spec& spec = *context.training.spec;
  add_per_container("server", kServerPort, spec.job.server_containers_per_pod);
  add("sampler", kSamplerPort);
  add_per_container("trainer", kTrainerPort, spec.job.trainer_containers_per_pod);
  add_per_container("admin", kAdminPort, MostContainersPerPod(spec));
  Json service = MakeChild(context, kube::kServices, ServiceName(context.training.meta.key.name), kSharedComponent);
  service["spec"] = {{"clusterIP", "None"},
                     {"publishNotReadyAddresses", true},
                     {"selector", MakeSelector(context.training)},
                     {"ports", std::move(ports)}};
  return service;
}

}  // namespace espalier::ctl::resources
