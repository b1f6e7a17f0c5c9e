// Parses a stored status, which other writers may have changed: nothing in it is trusted, and a field of a wrong type
// counts as unset.
#include <algorithm>

#include "operator/api/status.h"
#include "operator/kube/condition.h"

namespace espalier::ctl::api {
namespace {

using kube::Json;
using kube::JsonPath;

int64_t CountAt(const Json& value, JsonPath path) {
  return std::max<int64_t>(kube::IntegerAt(value, path).value_or(0), 0);
}

double NumberAt(const Json& value, JsonPath path) {
  const Json* found = kube::Find(value, path);
  return found != nullptr && found->is_number() ? found->get<double>() : 0;
}

// Returns the object at `path`, or an empty one.
const Json& ObjectAt(const Json& value, JsonPath path) {
  static const Json* const kNothing = new Json(Json::object());
  const Json* found = kube::Find(value, path);
  return found != nullptr && found->is_object() ? *found : *kNothing;
}

std::vector<Condition> ReadConditions(const Json& status) {
  Status read;
  for (const Json& item : kube::ListAt(status, {"conditions"})) {
    Condition condition{.type = kube::StringAt(item, {"type"}),
                        .status = ConditionStatusFromName(kube::StringAt(item, {"status"})),
                        .reason = kube::StringAt(item, {"reason"}),
                        .message = kube::StringAt(item, {"message"}),
                        .observed_generation = CountAt(item, {"observedGeneration"})};
    // Skips conditions of other writers: if the operator wrote them back as its own, those writers could not remove
    // them.
    if (!IsOurCondition(condition.type) || FindCondition(read, condition.type) != nullptr) continue;
    const kube::WallTime changed = kube::TimeAt(item, {"lastTransitionTime"}).value_or(kube::WallTime{});
    SetCondition(&read, std::move(condition), changed);
  }
  return std::move(read.conditions);
}

std::optional<PartitionStatus> ReadPartition(const Json& status) {
  const Json& json = ObjectAt(status, {"partition"});
  PartitionStatus partition{.hash = kube::StringAt(json, {"hash"}),
                            .uri = kube::StringAt(json, {"uri"}),
                            .cut = NumberAt(json, {"cut"}),
                            .bytes = CountAt(json, {"bytes"})};
  // If the hash or the URI is missing, the whole field counts as unset: the operator then reads it from the report of a
  // partition Job.
  if (partition.hash.empty() || partition.uri.empty()) return std::nullopt;
  return partition;
}

std::optional<ScriptStatus> ReadScript(const Json& status) {
  const Json& json = ObjectAt(status, {"script"});
  ScriptStatus script{.source = kube::StringAt(json, {"source"}), .sha256 = kube::StringAt(json, {"sha256"})};
  if (script.sha256.empty()) return std::nullopt;
  return script;
}

std::optional<LastError> ReadLastError(const Json& status) {
  const Json& json = ObjectAt(status, {"lastError"});
  if (json.empty()) return std::nullopt;
  LastError error{.role = kube::StringAt(json, {"role"}),
                  .reason = kube::StringAt(json, {"reason"}),
                  .message = kube::StringAt(json, {"message"}),
                  .exit_code = std::nullopt,
                  .pod = kube::StringAt(json, {"pod"})};
  if (const auto code = kube::IntegerAt(json, {"exitCode"}); code.has_value() && *code >= 0 && *code <= 255) {
    error.exit_code = static_cast<int>(*code);
  }
  return error;
}

std::optional<Progress> ReadProgress(const Json& status) {
  const Json& json = ObjectAt(status, {"progress"});
  if (json.empty()) return std::nullopt;
  Progress progress{.epoch = CountAt(json, {"epoch"}),
                    .percent = NumberAt(json, {"percent"}),
                    .eta_seconds = kube::IntegerAt(json, {"etaSeconds"}),
                    .metrics = {},
                    .last_updated = kube::TimeAt(json, {"lastUpdated"}).value_or(kube::WallTime{}),
                    .phase = {},
                    .phase_percent = {}};
  progress.metrics = MetricsFromJson(ObjectAt(json, {"metrics"}));
  progress.phase = kube::StringAt(json, {"phase"});
  if (kube::Find(json, {"phasePercent"}) != nullptr) progress.phase_percent = NumberAt(json, {"phasePercent"});
  return progress;
}

}  // namespace

std::map<std::string, double> MetricsFromJson(const Json& json) {
  std::map<std::string, double> metrics;
  if (!json.is_object()) return metrics;
  for (const auto& [name, value] : json.items()) {
    if (metrics.size() == kMaxMetrics) break;
    if (name.empty() || name.size() > kMaxMetricNameBytes || !value.is_number()) continue;
    if (const double number = value.get<double>(); std::isfinite(number)) metrics[name] = number;
  }
  return metrics;
}

Status StatusFromJson(const Json& json) {
  Status status{.observed_generation = CountAt(json, {"observedGeneration"}),
                .phase = PhaseFromName(kube::StringAt(json, {"phase"})),
                .conditions = ReadConditions(json),
                .incarnation = CountAt(json, {"incarnation"}),
                .partition_attempt = CountAt(json, {"attempts", "partition"}),
                .attempts_total = CountAt(json, {"attempts", "total"}),
                .attempts_counted = CountAt(json, {"attempts", "counted"}),
                .restart_reason = kube::StringAt(json, {"restartReason"}),
                .partition = ReadPartition(json),
                .script = ReadScript(json),
                .images = {},
                .replicas = {},
                .trainer_replicas = CountAt(json, {"trainerReplicas"}),
                .selector = kube::StringAt(json, {"selector"}),
                .started_at = kube::TimeAt(json, {"startTime"}),
                .finished_at = kube::TimeAt(json, {"completionTime"}),
                .last_error = ReadLastError(json),
                .child_refs = {},
                .progress = ReadProgress(json)};
  for (const auto& [role, image] : ObjectAt(json, {"images"}).items()) {
    if (image.is_string()) status.images[role] = image.get<std::string>();
  }
  for (const auto& [role, counts] : ObjectAt(json, {"replicaStatuses"}).items()) {
    status.replicas[role] = {CountAt(counts, {"wanted"}), CountAt(counts, {"ready"}), CountAt(counts, {"failed"})};
  }
  for (const Json& child : kube::ListAt(json, {"childRefs"})) {
    if (status.child_refs.size() == kMaxChildRefs) break;
    status.child_refs.push_back({kube::StringAt(child, {"kind"}), kube::StringAt(child, {"name"})});
  }
  return status;
}

}  // namespace espalier::ctl::api
