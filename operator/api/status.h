// status of a DistTraining (disttraining.md 3): written by the operator, read by people, kubectl wait and the operator
// after a restart. What the operator must not forget (incarnation, attempts, partition, images, whether it was
// accepted) is here and nowhere else; everything else is computed from the world each time.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/kube/json.h"
#include "operator/kube/time.h"

namespace espalier::ctl::api {

enum class ConditionStatus { kTrue, kFalse, kUnknown };
const char* ToString(ConditionStatus status);                      // "True", "False", "Unknown"
ConditionStatus ConditionStatusFromName(const std::string& name);  // kUnknown for others

struct Condition {
  std::string type;  // kAccepted and so on, below
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string reason;   // CamelCase
  std::string message;  // at most kMaxMessageBytes
  int64_t observed_generation = 0;
  kube::WallTime last_transition{};  // of `status`
  friend bool operator==(const Condition&, const Condition&) = default;
};

// For people and printer columns; derived, never read back.
enum class Phase {
  kPending,
  kPartitioning,
  kStarting,
  kTraining,
  kRestarting,
  kSuspending,
  kSuspended,
  kSucceeded,
  kFailed
};
const char* ToString(Phase phase);
Phase PhaseFromName(const std::string& name);  // kPending for others

// Types of conditions. (After Phase: declared before it, GCC takes its members for shadows of these.)
inline constexpr char kAccepted[] = "Accepted";
inline constexpr char kPartitioned[] = "Partitioned";
inline constexpr char kServersReady[] = "ServersReady";
inline constexpr char kTrainersReady[] = "TrainersReady";
inline constexpr char kSuspended[] = "Suspended";
inline constexpr char kRestarting[] = "Restarting";
inline constexpr char kSucceeded[] = "Succeeded";
inline constexpr char kFailed[] = "Failed";

struct ReplicaStatus {
  int64_t wanted = 0;
  int64_t ready = 0;
  int64_t failed = 0;
  friend bool operator==(const ReplicaStatus&, const ReplicaStatus&) = default;
};

struct PartitionStatus {
  std::string hash;
  std::string uri;  // of the folder with manifest.json
  double cut = 0;
  int64_t bytes = 0;
  friend bool operator==(const PartitionStatus&, const PartitionStatus&) = default;
};

// The script of the user's program that every incarnation runs; written once.
struct ScriptStatus {
  std::string source;  // "s3://code/train.py", or "ConfigMap code, key train.py"
  std::string sha256;  // of the file or archive, 64 hexadecimal digits
  friend bool operator==(const ScriptStatus&, const ScriptStatus&) = default;
};

// The phase in which a trainer takes steps.
inline constexpr char kTrainingPhase[] = "Training";

struct Progress {  // its own field manager writes it
  int64_t epoch = 0;
  double percent = 0;
  std::optional<int64_t> eta_seconds;
  std::map<std::string, double> metrics;
  kube::WallTime last_updated{};
  std::string phase;                    // of rank 0: kTrainingPhase, "Evaluating", ...; empty: unknown, or ended
  std::optional<double> phase_percent;  // of that phase
  friend bool operator==(const Progress&, const Progress&) = default;
};

struct LastError {
  std::string role;    // "trainer"; empty: the job's
  std::string reason;  // "OOMKilled", "BadInput", "NodeLost", "FailedCreate"
  std::string message;
  std::optional<int> exit_code;
  std::string pod;
  friend bool operator==(const LastError&, const LastError&) = default;
};

struct ChildRef {
  std::string kind;
  std::string name;
  friend bool operator==(const ChildRef&, const ChildRef&) = default;
};

struct Status {
  int64_t observed_generation = 0;
  Phase phase = Phase::kPending;
  std::vector<Condition> conditions;  // at most one of a type, in the order of the constants above
  int64_t incarnation = 0;            // of the trainer group; 0: none yet
  int64_t partition_attempt = 0;      // of the partition Job; 0: none yet
  int64_t attempts_total = 0;         // trainer Jobs begun, counted or not
  int64_t attempts_counted = 0;       // failures that count towards backoffLimit, of partition and trainer Jobs
  std::string restart_reason;         // why the current incarnation or attempt was begun; empty: the first
  std::optional<PartitionStatus> partition;
  std::optional<ScriptStatus> script;
  std::map<std::string, std::string> images;      // by role name, resolved when the job was accepted
  std::map<std::string, ReplicaStatus> replicas;  // by role name
  int64_t trainer_replicas = 0;                   // of the current incarnation: the scale subresource's status
  std::string selector;                           // the scale subresource's labelSelectorPath
  std::optional<kube::WallTime> started_at;       // or resumed at: activeDeadlineSeconds counts from here
  std::optional<kube::WallTime> finished_at;
  std::optional<LastError> last_error;
  std::vector<ChildRef> child_refs;
  std::optional<Progress> progress;
  friend bool operator==(const Status&, const Status&) = default;
};

// What the schema bounds, and ToJson keeps to.
inline constexpr size_t kMaxMessageBytes = 1024;
inline constexpr size_t kMaxChildRefs = 64;
inline constexpr size_t kMaxMetrics = 64;
inline constexpr size_t kMaxMetricNameBytes = 63;
inline constexpr size_t kMaxProgressPhaseBytes = 63;
// At most kMaxMessageBytes: what does not fit loses its middle (services/base/shorten.h).
std::string CutMessage(const std::string& text);

// Whether the operator writes conditions of this type. Others may be somebody else's, who shares the list.
bool IsOurCondition(std::string_view type);
const Condition* FindCondition(const Status& status, std::string_view type);
bool IsTrue(const Status& status, std::string_view type);
// Sets or replaces, in the order of the constants; last_transition is `now` in whole seconds where the status of the
// condition changes, and stays otherwise; the message is cut.
void SetCondition(Status* status, Condition condition, kube::WallTime now);
inline bool IsTerminal(const Status& status) { return IsTrue(status, kSucceeded) || IsTrue(status, kFailed); }

// progress is not written by ToJson (another field manager's: ProgressToJson). Times are whole seconds there.
kube::Json ToJson(const Status& status);
kube::Json ProgressToJson(const Progress& progress);
Status StatusFromJson(const kube::Json& json);  // what is missing or of another type: as unset
// The finite numbers of an object that has metrics by name, as many as may be stored; a trainer says them.
std::map<std::string, double> MetricsFromJson(const kube::Json& json);

}  // namespace espalier::ctl::api
