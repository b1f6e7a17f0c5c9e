// What Kueue has decided about a job that has a queue (resources::kQueueLabel). Pure functions of the resource and of
// what was observed.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/plan/observed.h"

namespace espalier::ctl::plan {

// Types of the conditions of a Workload.
inline constexpr char kWorkloadQuotaReserved[] = "QuotaReserved";
inline constexpr char kWorkloadAdmitted[] = "Admitted";
inline constexpr char kWorkloadEvicted[] = "Evicted";
inline constexpr char kWorkloadFinished[] = "Finished";
inline constexpr char kWorkloadPodsReady[] = "PodsReady";
inline constexpr char kWorkloadRequeued[] = "Requeued";

// Names of pod sets.
inline const char* const kPartitionerPodSet = api::FieldName(api::Role::kPartitioner);
inline const char* const kTrainerPodSet = api::FieldName(api::Role::kTrainer);

// Returns whether the job has a queue.
bool IsQueued(const api::DistTraining& training);
// Returns whether the operator uses Kueue and its cache of Workloads is filled.
bool IsQueueKnown(const Observed& seen);
// Returns the job's own Workload, or null.
const kube::QueuedWorkload* FindWorkload(const api::DistTraining& training, const Observed& seen);
// Returns whether the Workload's queue, time limit or pod sets differ from those of the resource as it is now. Returns
// false until the resource's current generation is accepted. While quota is reserved, Kueue does not allow changes of
// pod sets. A different number of trainers then makes the Workload outdated only if the quota that is left is not
// enough for that number.
bool IsOutdated(const kube::QueuedWorkload& workload, const api::DistTraining& training, const api::Status& status,
                const Observed& seen);

// Returns whether the job must not run now, because Kueue has not admitted it or has evicted it. While the operator
// does not know what Kueue has decided, returns false for a job that runs and true for any other job.
bool AwaitsQuota(const api::DistTraining& training, const api::Status& status, const Observed& seen);

// Return parts of the Workload's admission: the number of admitted trainers, nullopt if the admission has none, and the
// names of the ResourceFlavors that pods run in.
std::optional<int64_t> AdmittedTrainers(const api::DistTraining& training, const Observed& seen);
std::vector<std::string> AdmittedFlavors(const api::DistTraining& training, const Observed& seen);

// What Kueue adds to the pods of each role (resources::Context::placements): the node labels and tolerations of their
// flavors, the updates of admission checks, and, with a topology assignment, the gate that Kueue removes from a pod
// when it has given the pod the node labels of its place. A role without additions has no entry.
struct Placements {
  std::map<api::Role, kube::Json> by_role;
  std::string missing;  // why a flavor is not known; empty: all are
};
Placements FindPlacements(const api::DistTraining& training, const Observed& seen);

}  // namespace espalier::ctl::plan
