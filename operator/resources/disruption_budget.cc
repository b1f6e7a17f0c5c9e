#include "operator/resources/child.h"
#include "operator/resources/names.h"

namespace espalier::ctl::resources {

using kube::Json;

// Drains take one server at a time: trainers wait for it to load its partition elsewhere.
Json DisruptionBudget(const Context& context) {
  Json budget = MakeChild(context, kube::kPodDisruptionBudgets, DisruptionBudgetName(context.training.meta.key.name),
                          api::ToString(api::Role::kServer));
  budget["spec"] = {{"maxUnavailable", 1},
                    {"selector", {{"matchLabels", MakeSelector(context.training, api::Role::kServer)}}},
                    // One that cannot become ready would keep its node from being drained for ever.
                    {"unhealthyPodEvictionPolicy", "AlwaysAllow"}};
  return budget;
}

}  // namespace espalier::ctl::resources
