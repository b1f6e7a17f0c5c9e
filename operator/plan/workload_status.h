// Patches of a Workload's status, which the controller of a job owes to Kueue.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "operator/api/status.h"
#include "operator/plan/plan.h"

namespace espalier::ctl::plan {

// Returns the patch that gives the quota of an evicted Workload back, whose pods have all ended: without admission, not
// admitted, and requeued at once if Kueue preempted it (otherwise Kueue decides when). Trainers that were not needed in
// this admission count again, because the next one is for the number that the document has then.
PatchWorkloadStatus ReleaseQuota(const kube::QueuedWorkload& workload, kube::WallTime now);

// Returns the patch that declares the Workload finished, or nullopt if it is. `status` is terminal.
std::optional<PatchWorkloadStatus> ReportFinished(const kube::QueuedWorkload& workload, const api::Status& status,
                                                  kube::WallTime now);

// Pods that do not need their quota any more, by pod set: status.reclaimablePods.
using ReclaimablePods = std::map<std::string, int64_t>;

// Of an admitted Workload: returns the patch that reports whether the pods are ready, and whose share of the quota is
// not needed any more, or nullopt if the Workload says so already. A pod set that `reclaimable` lacks, or of which it
// has fewer pods than the Workload, keeps the Workload's number: Kueue refuses a smaller one. PodsReady becomes True
// when all pods of a stage (partitioners; servers, samplers and trainers) are ready, stays True between stages, and
// becomes False when a group has failed.
std::optional<PatchWorkloadStatus> ReportPods(const kube::QueuedWorkload& workload, const api::Status& status,
                                              const ReclaimablePods& reclaimable, kube::WallTime now);

}  // namespace espalier::ctl::plan
