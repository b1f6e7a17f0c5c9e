#include "operator/kube/queued_workload.h"

#include <algorithm>

namespace espalier::ctl::kube {
namespace {

// Returns the value at `path` if it has the type of `otherwise`, else `otherwise`.
Json ValueAt(const Json& value, JsonPath path, Json otherwise) {
  const Json* const found = Find(value, path);
  if (found != nullptr && found->type() == otherwise.type()) return *found;
  return otherwise;
}

QueuedWorkload::Assignment ParseAssignment(const Json& json) {
  QueuedWorkload::Assignment assignment{.pod_set = StringAt(json, {"name"}),
                                        .count = IntegerAt(json, {"count"}),
                                        .flavors = {},
                                        .has_topology = Find(json, {"topologyAssignment"}) != nullptr};
  const Json flavors = ValueAt(json, {"flavors"}, Json::object());
  for (const auto& [resource, flavor] : flavors.items()) {
    if (flavor.is_string()) assignment.flavors.push_back(flavor.get<std::string>());
  }
  std::sort(assignment.flavors.begin(), assignment.flavors.end());
  const auto end = std::unique(assignment.flavors.begin(), assignment.flavors.end());
  assignment.flavors.erase(end, assignment.flavors.end());
  return assignment;
}

QueuedWorkload::PodSetUpdate ParseUpdate(const Json& json) {
  return {.pod_set = StringAt(json, {"name"}),
          .labels = ValueAt(json, {"labels"}, Json::object()),
          .annotations = ValueAt(json, {"annotations"}, Json::object()),
          .node_selector = ValueAt(json, {"nodeSelector"}, Json::object()),
          .tolerations = ValueAt(json, {"tolerations"}, Json::array())};
}

}  // namespace

std::optional<Condition> QueuedWorkload::Find(std::string_view type) const {
  Json object = Json::object();
  object["status"]["conditions"] = conditions;
  return FindCondition(object, type);
}

bool QueuedWorkload::IsTrue(std::string_view type) const {
  const std::optional<Condition> condition = Find(type);
  return condition && condition->is_true();
}

const QueuedWorkload::PodSet* QueuedWorkload::FindPodSet(std::string_view name) const {
  const auto found =
      std::find_if(pod_sets.begin(), pod_sets.end(), [name](const PodSet& set) { return set.name == name; });
  return found == pod_sets.end() ? nullptr : &*found;
}

const QueuedWorkload::Assignment* QueuedWorkload::FindAssignment(std::string_view name) const {
  const auto found = std::find_if(assignments.begin(), assignments.end(),
                                  [name](const Assignment& assignment) { return assignment.pod_set == name; });
  return found == assignments.end() ? nullptr : &*found;
}

int64_t QueuedWorkload::CountReclaimable(std::string_view name) const {
  for (const Json& pods : reclaimable_pods) {
    if (StringAt(pods, {"name"}) == name) return IntegerAt(pods, {"count"}).value_or(0);
  }
  return 0;
}

Result<QueuedWorkload> ParseQueuedWorkload(const Json& object) {
  QueuedWorkload workload;
  ASSIGN_OR_RETURN(workload.meta, ParseObjectMeta(object));
  const Json* const active = kube::Find(object, {"spec", "active"});
  workload.active = active == nullptr || !active->is_boolean() || active->get<bool>();
  workload.queue = StringAt(object, {"spec", "queueName"});
  workload.priority_class = StringAt(object, {"spec", "priorityClassRef", "name"});
  workload.max_execution_seconds = IntegerAt(object, {"spec", "maximumExecutionTimeSeconds"});
  for (const Json& set : ListAt(object, {"spec", "podSets"})) {
    workload.pod_sets.push_back({.name = StringAt(set, {"name"}),
                                 .count = IntegerAt(set, {"count"}).value_or(1),
                                 .min_count = IntegerAt(set, {"minCount"})});
    for (const char* const level : {"required", "preferred", "unconstrained"}) {
      if (kube::Find(set, {"topologyRequest", level}) != nullptr) {
        workload.topology_requested.insert(StringAt(set, {"name"}));
      }
    }
  }
  workload.cluster_queue = StringAt(object, {"status", "admission", "clusterQueue"});
  for (const Json& assignment : ListAt(object, {"status", "admission", "podSetAssignments"})) {
    workload.assignments.push_back(ParseAssignment(assignment));
  }
  for (const Json& check : ListAt(object, {"status", "admissionChecks"})) {
    for (const Json& update : ListAt(check, {"podSetUpdates"})) workload.updates.push_back(ParseUpdate(update));
  }
  workload.past_execution_seconds = IntegerAt(object, {"status", "accumulatedPastExecutionTimeSeconds"});
  workload.conditions = ListAt(object, {"status", "conditions"});
  workload.reclaimable_pods = ListAt(object, {"status", "reclaimablePods"});
  return workload;
}

}  // namespace espalier::ctl::kube
