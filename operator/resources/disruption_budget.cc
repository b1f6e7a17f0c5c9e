#include "operator/resources/child.h"
#include "operator/resources/names.h"

namespace espalier::ctl::resources {

using kube::Json;

// Lets node drains evict one server at a time. Trainers wait while it loads its partition on another node.
Json DisruptionBudget(const Context& context) {
  Json budget = MakeChild(context, kube::kPodDisruptionBudgets, DisruptionBudgetName(context.training.meta.key.name),
                          api::ToString(api::Role::kServer));
  budget["spec"] = {{"maxUnavailable", 1},
                    {"selector", {{"matchLabels", MakeSelector(context.training, api::Role::kServer)}}},
                    // Otherwise a server that cannot become ready would block the drain of its node.
                    {"unhealthyPodEvictionPolicy", "AlwaysAllow"}};
  return budget;
}

}  // namespace espalier::ctl::resources
