// Patches of a Workload's status that Kueue expects from the controller of a job.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "operator/api/status.h"
#include "operator/plan/plan.h"

namespace espalier::ctl::plan {

// Returns the patch that releases the quota of an evicted Workload. All pods of the job must have ended. The patch
// removes the admission, sets QuotaReserved, Admitted and PodsReady to False, and sets Requeued to True if Kueue has
// preempted the Workload or a node has failed; otherwise Requeued is False, and Kueue decides when to requeue the
// Workload. The patch also adds the time since the admission to accumulatedPastExecutionTimeSeconds, and removes the
// trainers from reclaimablePods, because the next admission is for the number of trainers that the document has then.
PatchWorkloadStatus ReleaseQuota(const kube::QueuedWorkload& workload, kube::WallTime now);

// Returns the patch that declares the Workload finished, or nullopt if it is finished already. The job with `status`
// must have ended.
std::optional<PatchWorkloadStatus> ReportFinished(const kube::QueuedWorkload& workload, const api::Status& status,
                                                  kube::WallTime now);

// Numbers of pods that do not need their quota any more, by pod set, for status.reclaimablePods.
using ReclaimablePods = std::map<std::string, int64_t>;

// Returns the patch of an admitted Workload that sets PodsReady and reclaimablePods, or nullopt if both are up to date.
// A number in reclaimablePods never decreases, because Kueue refuses that: the patch keeps the Workload's number if
// `reclaimable` lacks the pod set or has a smaller number. PodsReady becomes True when all pods of a stage
// (partitioners; servers, samplers and trainers) are ready, stays True between stages, and becomes False when a group
// of pods is restarted, after a failure or a change of the number of trainers.
std::optional<PatchWorkloadStatus> ReportPods(const kube::QueuedWorkload& workload, const api::Status& status,
                                              const ReclaimablePods& reclaimable, kube::WallTime now);

}  // namespace espalier::ctl::plan
