// ToJson leaves unset fields out, so that a server-side apply removes them from the stored status. Messages are
// shortened, only the first kMaxChildRefs children are written, and numbers that are not finite become 0 or are left
// out, because the API server refuses a whole status if one value violates the schema.
#include "operator/api/status.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "services/base/shorten.h"

namespace espalier::ctl::api {
namespace {

using kube::Json;

constexpr std::array kConditionOrder{kAccepted,  kQuotaReserved, kPartitioned, kServersReady, kTrainersReady,
                                     kSuspended, kRestarting,    kSucceeded,   kFailed};

constexpr std::array<std::pair<Phase, const char*>, 9> kPhases{{{Phase::kPending, "Pending"},
                                                                {Phase::kPartitioning, "Partitioning"},
                                                                {Phase::kStarting, "Starting"},
                                                                {Phase::kTraining, "Training"},
                                                                {Phase::kRestarting, "Restarting"},
                                                                {Phase::kSuspending, "Suspending"},
                                                                {Phase::kSuspended, "Suspended"},
                                                                {Phase::kSucceeded, "Succeeded"},
                                                                {Phase::kFailed, "Failed"}}};

constexpr std::array<std::pair<ConditionStatus, const char*>, 3> kConditionStatuses{
    {{ConditionStatus::kTrue, "True"}, {ConditionStatus::kFalse, "False"}, {ConditionStatus::kUnknown, "Unknown"}}};

template <class Table, class E>
const char* NameIn(const Table& table, E value) {
  for (const auto& [candidate, name] : table) {
    if (candidate == value) return name;
  }
  return "";
}

template <class E, size_t N>
E ValueIn(const std::array<std::pair<E, const char*>, N>& table, const std::string& name, E otherwise) {
  for (const auto& [candidate, candidate_name] : table) {
    if (name == candidate_name) return candidate;
  }
  return otherwise;
}

size_t PlaceInOrder(const std::string& type) {
  return static_cast<size_t>(std::find(kConditionOrder.begin(), kConditionOrder.end(), type) - kConditionOrder.begin());
}

// Returns the condition's reason, or its type if it has no reason. The schema requires a reason, but a condition that
// was read from a stored status may have none.
std::string ConditionReason(const Condition& condition) {
  return condition.reason.empty() ? condition.type : condition.reason;
}

Json ConditionToJson(const Condition& condition) {
  return {{"type", condition.type},
          {"status", NameIn(kConditionStatuses, condition.status)},
          {"reason", ConditionReason(condition)},
          {"message", CutMessage(condition.message)},
          {"observedGeneration", condition.observed_generation},
          {"lastTransitionTime", kube::FormatTime(condition.last_transition)}};
}

Json LastErrorToJson(const LastError& error) {
  Json json = {{"reason", error.reason}, {"message", CutMessage(error.message)}};
  if (!error.role.empty()) json["role"] = error.role;
  if (error.exit_code.has_value()) json["exitCode"] = *error.exit_code;
  if (!error.pod.empty()) json["pod"] = error.pod;
  return json;
}

Json ReplicasToJson(const std::map<std::string, ReplicaStatus>& replicas) {
  Json json = Json::object();
  for (const auto& [role, status] : replicas) {
    json[role] = {{"wanted", status.wanted}, {"ready", status.ready}, {"failed", status.failed}};
  }
  return json;
}

Json ChildrenToJson(const std::vector<ChildRef>& children) {
  Json json = Json::array();
  for (const ChildRef& child : children) {
    if (json.size() == kMaxChildRefs) break;
    json.push_back({{"kind", child.kind}, {"name", child.name}});
  }
  return json;
}

// Returns 0 for NaN and infinity, which JSON cannot represent.
double FiniteOrZero(double value) { return std::isfinite(value) ? value : 0; }

}  // namespace

const char* ToString(Phase phase) { return NameIn(kPhases, phase); }
const char* ToString(ConditionStatus status) { return NameIn(kConditionStatuses, status); }
Phase PhaseFromName(const std::string& name) { return ValueIn(kPhases, name, Phase::kPending); }
ConditionStatus ConditionStatusFromName(const std::string& name) {
  return ValueIn(kConditionStatuses, name, ConditionStatus::kUnknown);
}

std::string CutMessage(const std::string& text) { return ShortenMiddle(text, kMaxMessageBytes); }

bool IsOurCondition(std::string_view type) {
  return std::find(kConditionOrder.begin(), kConditionOrder.end(), type) != kConditionOrder.end();
}

const Condition* FindCondition(const Status& status, std::string_view type) {
  const auto found = std::find_if(status.conditions.begin(), status.conditions.end(),
                                  [&](const Condition& condition) { return condition.type == type; });
  return found == status.conditions.end() ? nullptr : &*found;
}

bool IsTrue(const Status& status, std::string_view type) {
  const Condition* condition = FindCondition(status, type);
  return condition != nullptr && condition->status == ConditionStatus::kTrue;
}

void SetCondition(Status* status, Condition condition, kube::WallTime now) {
  condition.message = CutMessage(condition.message);
  condition.last_transition = std::chrono::floor<std::chrono::seconds>(now);  // with the precision that is stored
  auto& conditions = status->conditions;
  const auto same = std::find_if(conditions.begin(), conditions.end(),
                                 [&](const Condition& earlier) { return earlier.type == condition.type; });
  if (same != conditions.end()) {
    if (same->status == condition.status) condition.last_transition = same->last_transition;
    *same = std::move(condition);
    return;
  }
  const auto after = std::find_if(conditions.begin(), conditions.end(), [&](const Condition& other) {
    return PlaceInOrder(other.type) > PlaceInOrder(condition.type);
  });
  conditions.insert(after, std::move(condition));
}

Json ToJson(const Status& status) {
  Json json = {{"observedGeneration", status.observed_generation},
               {"phase", ToString(status.phase)},
               {"conditions", Json::array()},
               {"incarnation", status.incarnation},
               {"attempts",
                {{"partition", status.partition_attempt},
                 {"total", status.attempts_total},
                 {"counted", status.attempts_counted}}},
               {"trainerReplicas", status.trainer_replicas}};
  for (const Condition& condition : status.conditions) json["conditions"].push_back(ConditionToJson(condition));
  if (!status.restart_reason.empty()) json["restartReason"] = CutMessage(status.restart_reason);
  if (status.partition.has_value()) {
    const PartitionStatus& partition = *status.partition;
    json["partition"] = {{"hash", partition.hash},
                         {"uri", partition.uri},
                         {"cut", FiniteOrZero(partition.cut)},
                         {"bytes", partition.bytes}};
  }
  if (status.script) json["script"] = {{"source", status.script->source}, {"sha256", status.script->sha256}};
  if (!status.images.empty()) json["images"] = status.images;
  if (!status.replicas.empty()) json["replicaStatuses"] = ReplicasToJson(status.replicas);
  if (!status.selector.empty()) json["selector"] = status.selector;
  if (status.started_at.has_value()) json["startTime"] = kube::FormatTime(*status.started_at);
  if (status.finished_at.has_value()) json["completionTime"] = kube::FormatTime(*status.finished_at);
  if (status.last_error.has_value()) json["lastError"] = LastErrorToJson(*status.last_error);
  if (!status.child_refs.empty()) json["childRefs"] = ChildrenToJson(status.child_refs);
  return json;
}

Json ProgressToJson(const Progress& progress) {
  Json json = {{"epoch", progress.epoch},
               {"percent", FiniteOrZero(progress.percent)},
               {"lastUpdated", kube::FormatTime(progress.last_updated)}};
  if (progress.eta_seconds.has_value()) json["etaSeconds"] = *progress.eta_seconds;
  if (!progress.phase.empty()) json["phase"] = progress.phase;
  if (progress.phase_percent.has_value()) json["phasePercent"] = FiniteOrZero(*progress.phase_percent);
  for (const auto& [name, value] : progress.metrics) {
    if (std::isfinite(value)) json["metrics"][name] = value;
  }
  return json;
}

}  // namespace espalier::ctl::api
