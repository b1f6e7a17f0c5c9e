// The fields of Kueue's Workload (kueue.x-k8s.io/v1beta2) that the operator reads.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/kube/condition.h"
#include "operator/kube/object_meta.h"

namespace espalier::ctl::kube {

// A job's entry in a queue of Kueue.
struct QueuedWorkload {
  // An item of spec.podSets.
  struct PodSet {
    std::string name;
    int64_t count = 1;
    std::optional<int64_t> min_count;  // fewest pods that Kueue may admit; nullopt: all of them
    friend bool operator==(const PodSet&, const PodSet&) = default;
  };
  // Kueue's decision about one pod set: an item of status.admission.podSetAssignments.
  struct Assignment {
    std::string pod_set;
    std::optional<int64_t> count;      // admitted pods; below PodSet::count only with min_count or reclaimable pods
    std::vector<std::string> flavors;  // names of ResourceFlavors, sorted, without duplicates
    bool has_topology = false;         // topologyAssignment is set
    friend bool operator==(const Assignment&, const Assignment&) = default;
  };
  // What an admission check adds to the pods of a pod set: an item of status.admissionChecks[].podSetUpdates.
  struct PodSetUpdate {
    std::string pod_set;
    Json labels = Json::object();
    Json annotations = Json::object();
    Json node_selector = Json::object();
    Json tolerations = Json::array();
    friend bool operator==(const PodSetUpdate&, const PodSetUpdate&) = default;
  };

  ObjectMeta meta;
  bool active = true;                            // spec.active; false: Kueue does not admit the Workload, or evicts it
  std::string queue;                             // spec.queueName: a LocalQueue
  std::string priority_class;                    // spec.priorityClassRef.name
  std::optional<int64_t> max_execution_seconds;  // spec.maximumExecutionTimeSeconds
  std::vector<PodSet> pod_sets;
  std::string cluster_queue;  // status.admission.clusterQueue; empty: no quota is reserved
  std::vector<Assignment> assignments;
  std::vector<PodSetUpdate> updates;
  std::set<std::string> topology_requested;       // pod sets with required, preferred or unconstrained topologyRequest
  std::optional<int64_t> past_execution_seconds;  // status.accumulatedPastExecutionTimeSeconds
  Json conditions = Json::array();                // status.conditions as stored
  Json reclaimable_pods = Json::array();          // status.reclaimablePods as stored

  // Returns the condition of this type, or nullopt.
  std::optional<Condition> Find(std::string_view type) const;
  bool IsTrue(std::string_view type) const;
  const PodSet* FindPodSet(std::string_view name) const;          // or null
  const Assignment* FindAssignment(std::string_view name) const;  // or null
  // Returns how many pods of the pod set no longer need quota, according to reclaimable_pods.
  int64_t CountReclaimable(std::string_view name) const;
  friend bool operator==(const QueuedWorkload&, const QueuedWorkload&) = default;
};

// Returns InvalidArgument if the metadata is invalid. Other fields of a wrong type count as unset.
Result<QueuedWorkload> ParseQueuedWorkload(const Json& object);

}  // namespace espalier::ctl::kube
