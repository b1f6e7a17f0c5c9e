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
// pod sets. If the document then asks for another number of trainers, the Workload is outdated only if the quota that
// it still has is too small for that number. If the document sets minReplicas, quota for minReplicas trainers is
// enough, as long as no quota of trainers was given back and the document has at most as many trainers as the Workload.
bool IsOutdated(const kube::QueuedWorkload& workload, const api::DistTraining& training, const api::Status& status,
                const Observed& seen);

// Returns whether the job has a queue and must not run now, because Kueue has not admitted it or has evicted it, or its
// Workload is outdated. While IsQueueKnown is false, returns false for a job that runs and true for any other job with
// a queue.
bool AwaitsQuota(const api::DistTraining& training, const api::Status& status, const Observed& seen);

// Returns the number of trainers that Kueue has admitted; nullopt: there is no Workload, it has no such number, or the
// spec is invalid.
std::optional<int64_t> AdmittedTrainers(const api::DistTraining& training, const Observed& seen);
// Returns the names of the ResourceFlavors that Kueue has assigned to the job's pods.
std::vector<std::string> AdmittedFlavors(const api::DistTraining& training, const Observed& seen);

// What the operator adds to the pods of each role for Kueue (resources::Context::placements): the node labels and
// tolerations of their flavors, the pod changes of admission checks, and, with a topology assignment, a scheduling
// gate. Kueue removes the gate after it has added the node labels of the pod's topology domain to the pod's
// nodeSelector. A role without additions has no entry.
struct Placements {
  std::map<api::Role, kube::Json> by_role;
  std::string missing;  // why a flavor was not read; empty: all were read
};
Placements FindPlacements(const api::DistTraining& training, const Observed& seen);

}  // namespace espalier::ctl::plan
