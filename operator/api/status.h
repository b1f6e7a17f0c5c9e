// The status of a DistTraining (docs/reference/status.md). The operator writes it; users, `kubectl wait` and the
// operator itself after a restart read it. It is the only place for state that must survive a restart of the operator,
// such as the incarnation, attempts, partition, script, images, start time and acceptance. Everything else is computed
// from the cluster each time.
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
ConditionStatus ConditionStatusFromName(const std::string& name);  // kUnknown for other names

struct Condition {
  std::string type;  // kAccepted and so on, below
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string reason;   // CamelCase
  std::string message;  // at most kMaxMessageBytes
  int64_t observed_generation = 0;
  kube::WallTime last_transition{};  // of `status`
  friend bool operator==(const Condition&, const Condition&) = default;
};

// A summary for users and printer columns, derived from the conditions. No plan depends on the stored phase; the
// operator's metrics and its progress poller do.
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
Phase PhaseFromName(const std::string& name);  // kPending for other names

// Condition types. (Declared after Phase: otherwise GCC warns that Phase's members shadow them.)
inline constexpr char kAccepted[] = "Accepted";
inline constexpr char kQuotaReserved[] = "QuotaReserved";  // only of a job in a queue of Kueue
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
  std::string hash;   // the partition key
  std::string uri;    // of the folder with manifest.json
  double cut = 0;     // edge cut as a fraction of all edges, 0 to 1
  int64_t bytes = 0;  // of all partitions
  friend bool operator==(const PartitionStatus&, const PartitionStatus&) = default;
};

// The script of the user's program, which every incarnation runs. Written once.
struct ScriptStatus {
  std::string source;  // "s3://code/train.py", or "ConfigMap code, key train.py"
  std::string sha256;  // of the file or archive, 64 hexadecimal digits
  friend bool operator==(const ScriptStatus&, const ScriptStatus&) = default;
};

// The progress phase in which a trainer takes steps.
inline constexpr char kTrainingPhase[] = "Training";

struct Progress {  // written by its own field manager
  int64_t epoch = 0;
  double percent = 0;
  std::optional<int64_t> eta_seconds;
  std::map<std::string, double> metrics;
  kube::WallTime last_updated{};
  std::string phase;                    // of rank 0: kTrainingPhase, "Evaluating", ...; empty: unknown or ended
  std::optional<double> phase_percent;  // of that phase
  friend bool operator==(const Progress&, const Progress&) = default;
};

struct LastError {
  std::string role;    // "trainer"; empty: the whole job
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
  std::vector<Condition> conditions;  // at most one per type, in the order of the constants above
  int64_t incarnation = 0;            // of the trainer group; 0: none yet
  int64_t partition_attempt = 0;      // of the partition Job; 0: none yet
  int64_t attempts_total = 0;         // trainer Jobs created
  int64_t attempts_counted = 0;       // failures of partition and trainer Jobs that count towards backoffLimit
  std::string restart_reason;         // why the current incarnation or attempt was started; empty: it is the first
  std::optional<PartitionStatus> partition;
  std::optional<ScriptStatus> script;
  std::map<std::string, std::string> images;      // by role name, resolved when the job was accepted
  std::map<std::string, ReplicaStatus> replicas;  // by role name
  int64_t trainer_replicas = 0;                   // of the current incarnation; the scale subresource returns it
  std::string selector;                           // label selector of the trainers; the scale subresource returns it
  std::optional<kube::WallTime> started_at;       // last start or resumption; activeDeadlineSeconds counts from here
  std::optional<kube::WallTime> finished_at;
  std::optional<LastError> last_error;
  std::vector<ChildRef> child_refs;
  std::optional<Progress> progress;
  friend bool operator==(const Status&, const Status&) = default;
};

// Limits of the schema. ToJson applies the limits of messages and children, MetricsFromJson the limits of metrics, and
// controller/progress.cc the limit of phase names.
inline constexpr size_t kMaxMessageBytes = 1024;
inline constexpr size_t kMaxChildRefs = 64;
inline constexpr size_t kMaxMetrics = 64;
inline constexpr size_t kMaxMetricNameBytes = 63;
inline constexpr size_t kMaxProgressPhaseBytes = 63;
// Returns at most kMaxMessageBytes of `text`. A longer text loses its middle (services/base/shorten.h).
std::string CutMessage(const std::string& text);

// Returns whether the operator writes conditions of this type. Other writers may add other types to the list.
bool IsOurCondition(std::string_view type);
const Condition* FindCondition(const Status& status, std::string_view type);
bool IsTrue(const Status& status, std::string_view type);
// Adds or replaces a condition, in the order of the constants. last_transition becomes `now` in whole seconds if the
// condition's status changes, and is kept otherwise. The message is shortened by CutMessage.
void SetCondition(Status* status, Condition condition, kube::WallTime now);
inline bool IsTerminal(const Status& status) { return IsTrue(status, kSucceeded) || IsTrue(status, kFailed); }

// Returns the status as JSON, with times in whole seconds. Omits progress, which another field manager writes
// (ProgressToJson).
kube::Json ToJson(const Status& status);
kube::Json ProgressToJson(const Progress& progress);
Status StatusFromJson(const kube::Json& json);  // fields that are missing or of a wrong type are unset
// Returns the metrics of a trainer by name. Leaves out values that are not finite numbers and names that are too long,
// and returns at most kMaxMetrics.
std::map<std::string, double> MetricsFromJson(const kube::Json& json);

}  // namespace espalier::ctl::api
