#include "operator/resources/child.h"
#include "operator/resources/names.h"

namespace espalier::ctl::resources {

using kube::Json;

// Gives every pod its name in DNS. Not-ready addresses too: trainers meet before they are ready.
Json Service(const Context& context) {
  const auto port = [](const char* name, int number) {
    return Json{{"name", name}, {"port", number}, {"targetPort", number}, {"protocol", "TCP"}};
  };
  Json service = ChildOf(context, kube::kServices, ServiceName(context.training.meta.key.name), kSharedComponent);
  service["spec"] = {{"clusterIP", "None"},
                     {"publishNotReadyAddresses", true},
                     {"selector", SelectorOf(context.training)},
                     {"ports", Json::array({port("server", kServerPort), port("sampler", kSamplerPort),
                                            port("trainer", kTrainerPort), port("admin", kAdminPort)})}};
  return service;
}

}  // namespace espalier::ctl::resources
