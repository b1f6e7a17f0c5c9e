// Program containers are recognized by name. CountSucceeded combines two sources per completion index: the pods and the
// Job's status. The pods show a success earlier than the status; if a sidecar holds or fails the pod, the status never
// shows it. The status still counts pods that have been deleted.
#include "operator/plan/program_pod.h"

#include <algorithm>
#include <set>

#include "operator/api/program_container.h"
#include "operator/plan/failure.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::plan {
namespace {

std::string LabelOr(const kube::Pod& pod, const char* label, const std::string& otherwise) {
  const auto found = pod.meta.labels.find(label);
  return found == pod.meta.labels.end() ? otherwise : found->second;
}

// Returns the number of the program container, or nullopt if the container is not one.
std::optional<uint32_t> FindContainerNumber(const kube::Pod& pod, const kube::ContainerState& container) {
  const auto component = pod.meta.labels.find(resources::kComponentLabel);
  for (const api::Role role : api::kRoles) {
    const bool may_run_role = component == pod.meta.labels.end() || component->second == api::ToString(role);
    if (!may_run_role) continue;
    if (const auto number = api::FindContainerNumber(role, container.name)) return number;
  }
  return std::nullopt;
}

// Returns whether `predicate` holds for every program container. Returns false if the pod has none yet.
template <class Predicate>
bool EachProgramContainer(const kube::Pod& pod, const Predicate& predicate) {
  bool any = false;
  for (const kube::ContainerState& container : pod.containers) {
    if (!IsProgramContainer(pod, container)) continue;
    if (!predicate(container)) return false;
    any = true;
  }
  return any;
}

bool ProgramHasFailed(const kube::Pod& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(), [&](const kube::ContainerState& container) {
    return IsProgramContainer(pod, container) && container.ended && !container.ended->succeeded();
  });
}

// Returns whether all programs of the pod ended before its deletion was requested, or no deletion was requested. Exit
// code 0 after SIGTERM does not count as success, because a user's program may exit with any code then. Times in
// Kubernetes are whole seconds, so an end in the second of the request may be a reaction to it.
bool EndedBeforeDeletionRequest(const kube::Pod& pod) {
  const auto& deleted_at = pod.meta.deletion_requested_at;
  return !deleted_at || EachProgramContainer(pod, [&](const kube::ContainerState& container) {
    return container.ended && container.ended->finished_at < *deleted_at;
  });
}

bool HasSucceeded(const kube::ContainerState& container) { return container.ended && container.ended->succeeded(); }

// Returns whether the pod is unready because of a sidecar, or because one of several programs has succeeded.
bool HasOtherCauseToBeUnready(const kube::Pod& pod) {
  return std::any_of(pod.containers.begin(), pod.containers.end(), [&](const kube::ContainerState& container) {
    return !container.ready && (!IsProgramContainer(pod, container) || HasSucceeded(container));
  });
}

std::string HolderText(const kube::Pod& pod) {
  std::string names;
  int number = 0;
  for (const kube::ContainerState& container : pod.containers) {
    if (container.ended || IsProgramContainer(pod, container)) continue;
    names += (names.empty() ? "" : ", ") + container.name;
    ++number;
  }
  return std::string(number == 1 ? "container " : "containers ") + names + (number == 1 ? " holds" : " hold") +
         " pod " + pod.meta.key.name + ", whose " + LabelOr(pod, resources::kComponentLabel, "program") + " has ended";
}

}  // namespace

bool IsProgramContainer(const kube::Pod& pod, const kube::ContainerState& container) {
  return FindContainerNumber(pod, container).has_value();
}

bool IsFirstProgramContainer(const kube::Pod& pod, const kube::ContainerState& container) {
  return FindContainerNumber(pod, container) == 0;
}

bool ProgramHasEnded(const kube::Pod& pod) {
  if (HasEnded(pod)) return true;
  return EachProgramContainer(pod, [](const kube::ContainerState& container) { return container.ended.has_value(); });
}

bool ProgramHasSucceeded(const kube::Pod& pod) {
  if (pod.phase == kube::PodPhase::kSucceeded) return true;
  return EachProgramContainer(pod, HasSucceeded);
}

bool HasPartlyFailed(const kube::Pod& pod) {
  return LabelOr(pod, resources::kComponentLabel, "") == api::ToString(api::Role::kTrainer) && ProgramHasFailed(pod) &&
         !ProgramHasEnded(pod);
}

bool ProgramIsReady(const kube::Pod& pod) {
  if (HasEnded(pod) || pod.meta.deletion_requested_at || !(pod.ready || HasOtherCauseToBeUnready(pod))) return false;
  return !ProgramHasSucceeded(pod) && EachProgramContainer(pod, [](const kube::ContainerState& container) {
    return container.ready || HasSucceeded(container);
  });
}

bool IsHeld(const kube::Pod& pod) {
  if (HasEnded(pod) || !ProgramHasEnded(pod)) return false;
  return std::any_of(pod.containers.begin(), pod.containers.end(),
                     [](const kube::ContainerState& container) { return !container.ended; });
}

// The Job's status, a pod, or both may show that an index has succeeded. The pods of a Job without indexes have no
// index.
int64_t CountSucceeded(const JobRun& run) {
  if (run.job == nullptr) return 0;
  int64_t pods = 0;
  std::set<std::string> indexes;
  for (const kube::Pod* pod : run.pods) {
    if (!ProgramHasSucceeded(*pod)) continue;
    ++pods;
    const std::string index = LabelOr(*pod, resources::kCompletionIndexLabel, "");
    if (!index.empty() && !run.job->HasCompleted(index)) indexes.insert(index);
  }
  const int64_t by_index =
      run.job->completed_indexes.empty() ? 0 : run.job->succeeded + static_cast<int64_t>(indexes.size());
  return std::max({run.job->succeeded, pods, by_index});
}

int64_t CountReady(const JobRun& run) {
  return std::count_if(run.pods.begin(), run.pods.end(), [](const kube::Pod* pod) { return ProgramIsReady(*pod); });
}

bool HasSucceededDespiteOthers(const JobRun& run) {
  if (run.job == nullptr || run.job->completions <= 0 || CountSucceeded(run) < run.job->completions) return false;
  if (!std::all_of(run.pods.begin(), run.pods.end(),
                   [](const kube::Pod* pod) { return EndedBeforeDeletionRequest(*pod); })) {
    return false;
  }
  const bool job_will_not_report_it =
      run.job->failure_target || run.job->has_failed || run.job->meta.deletion_requested_at;
  return job_will_not_report_it ||
         std::any_of(run.pods.begin(), run.pods.end(), [](const kube::Pod* pod) { return IsHeld(*pod); });
}

bool IsFailing(const JobRun& run) {
  if (run.job == nullptr) return false;
  if (run.job->failure_target || run.job->has_failed) return true;
  if (run.job->suspended) return false;  // the Job controller deletes the pods, which ends their programs
  return std::any_of(run.pods.begin(), run.pods.end(), [](const kube::Pod* pod) {
    return (IsHeld(*pod) && ProgramHasFailed(*pod)) || HasPartlyFailed(*pod);
  });
}

bool IsHeldOnlyByOtherContainers(const JobRun& run) {
  bool any = false;
  for (const kube::Pod* pod : run.pods) {
    if (!ProgramHasEnded(*pod)) return false;
    any = any || IsHeld(*pod);
  }
  return any;
}

std::string HoldersText(const JobRun& run) {
  const auto held = std::find_if(run.pods.begin(), run.pods.end(), [](const kube::Pod* pod) { return IsHeld(*pod); });
  return held == run.pods.end() ? std::string() : HolderText(**held);
}

std::string HoldersText(const std::map<int64_t, JobRun>& runs, int64_t except) {
  for (const auto& [number, run] : runs) {
    if (number == except) continue;
    if (std::string text = HoldersText(run); !text.empty()) return text;
  }
  return {};
}

}  // namespace espalier::ctl::plan
