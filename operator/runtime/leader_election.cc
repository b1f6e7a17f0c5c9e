// One thread tries to take or renew the Lease (Try) by a write with the resourceVersion of the last read: if two
// processes write at the same time, one of them gets a conflict. A second thread checks the renew deadline, because the
// first may hang in a request. Each successful write starts a term of the leader, which lasts for renew_deadline. The
// term starts when the request is sent, not when the response arrives, because the server may have stored the Lease
// long before the response. Roles change under mutex_; requests, `lost` and logging run without it.
#include "operator/runtime/leader_election.h"

#include <algorithm>
#include <utility>

#include "operator/kube/condition.h"
#include "operator/kube/json.h"
#include "operator/runtime/metrics.h"
#include "services/base/check.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::runtime {
namespace {

using telemetry::Level;
using telemetry::Log;

constexpr int kReleaseTries = 3;  // after a conflict the Lease is read again
constexpr std::chrono::minutes kMaxElectionWait{1};

// Compares all fields except resource_version, which changes even if only a label changes.
bool IsSameTerm(LeaseRecord a, const LeaseRecord& b) {
  a.resource_version = b.resource_version;
  return a == b;
}

// Returns `object` with the fields of `record` in its spec. Labels and other fields are kept.
kube::Json WithRecord(kube::Json object, const LeaseRecord& record) {
  kube::Json& spec = object["spec"];
  if (!spec.is_object()) spec = kube::Json::object();
  spec["holderIdentity"] = record.holder;
  spec["leaseDurationSeconds"] = record.duration_seconds;
  spec["leaseTransitions"] = record.transitions;
  spec["acquireTime"] = kube::FormatMicroTime(record.acquired_at);
  spec["renewTime"] = kube::FormatMicroTime(record.renewed_at);
  return object;
}

}  // namespace

// The first try starts retry_period after the last renewal, and the second try must end before renew_deadline has
// passed since that renewal. The first argument of min is the limit if the second try starts when the first one has
// timed out; the second argument is the limit if the second try starts retry_period after the start of the first one.
std::chrono::milliseconds LeaseCallTimeout(const LeaderElectionOptions& options) {
  return std::min((options.renew_deadline - options.retry_period) / 2,
                  options.renew_deadline - 2 * options.retry_period);
}

Result<LeaseRecord> ParseLease(const kube::Json& object) {
  LeaseRecord record;
  record.resource_version = kube::StringAt(object, {"metadata", "resourceVersion"});
  if (record.resource_version.empty()) return InvalidArgument("a Lease without metadata.resourceVersion");
  record.holder = kube::StringAt(object, {"spec", "holderIdentity"});
  record.duration_seconds = kube::IntegerAt(object, {"spec", "leaseDurationSeconds"}).value_or(0);
  record.transitions = kube::IntegerAt(object, {"spec", "leaseTransitions"}).value_or(0);
  record.acquired_at = kube::TimeAt(object, {"spec", "acquireTime"}).value_or(kube::WallTime());
  record.renewed_at = kube::TimeAt(object, {"spec", "renewTime"}).value_or(kube::WallTime());
  return record;
}

LeaderElector::LeaderElector(client::ApiClient& client, LeaderElectionOptions options, std::function<void()> lost,
                             telemetry::MetricRegistry& metrics, Clock& clock)
    : client_(client),
      options_(std::move(options)),
      lost_(std::move(lost)),
      clock_(clock),
      leads_(LeaderGauge(metrics, options_.lease.name)),
      jitter_(std::hash<std::string>()(options_.identity), 0) {
  ESPALIER_CHECK(!options_.identity.empty() && !options_.lease.name.empty()) << "identity and lease are needed";
  ESPALIER_CHECK(options_.lease_duration > options_.renew_deadline &&
                 options_.renew_deadline > 2 * options_.retry_period)
      << "expected lease_duration > renew_deadline > 2 * retry_period";
  // With a longer call_timeout, a single renewal that hangs would end the leadership.
  ESPALIER_CHECK(client.options().call_timeout <= LeaseCallTimeout(options_))
      << "the call_timeout of the lease's client leaves no time for a second try";
}

LeaderElector::~LeaderElector() {
  MutexLock lock(&mutex_);
  is_stopping_ = true;
}

bool LeaderElector::TryOnce() {
  {
    MutexLock lock(&mutex_);
    if (is_stopping_ || role_ == Role::kLost || role_ == Role::kStopped) return false;
  }
  const SteadyTime begun_at = clock_.Now();
  if (const Status status = Try(); !status.ok()) {
    Log(Level::kWarning, "lease could not be acquired or renewed",
        {{"lease", kube::ToString(options_.lease)}, {"error", status}});
  }
  CheckRenewDeadline();
  const bool leads = is_leader();
  std::chrono::nanoseconds period = options_.retry_period;
  if (!leads) period += period / 1000 * jitter_.NextBelow(500);
  next_try_at_ = begun_at + period;
  return leads;
}

Status LeaderElector::Try() {
  const Result<LeaseRecord> known = ParseLease(object_);
  if (is_leader() && known.ok()) {
    // Written without reading first: if another process has changed the Lease, the server reports a conflict.
    const Status status = Write(OwnRecord(*known));
    if (status.code() != StatusCode::kAborted && status.code() != StatusCode::kNotFound) return status;
  }
  Result<kube::Json> lease = client_.Get(kube::kLeases, options_.lease);
  if (lease.status().code() == StatusCode::kNotFound) {
    // The Lease was deleted, perhaps unnoticed by its holder: wait until the Lease as last seen could be taken.
    const bool is_free = !known.ok() || IsAvailable(*known);
    return is_free ? Create() : Status();
  }
  if (!lease.ok()) return std::move(lease).status();
  ASSIGN_OR_RETURN(const LeaseRecord record, ParseLease(*lease));
  object_ = *std::move(lease);
  Observe(record);
  if (!record.holder.empty() && record.holder != options_.identity) Lose("another process holds the lease");
  if (!IsAvailable(record)) return Status();
  const Status status = Write(OwnRecord(record));
  // kAborted: another process has taken it first.
  return status.code() == StatusCode::kAborted ? Status() : status;
}

Status LeaderElector::Create() {
  const LeaseRecord record = OwnRecord({});
  const kube::Json object = {{"apiVersion", kube::kLeases.api_version()},
                             {"kind", "Lease"},
                             {"metadata", {{"name", options_.lease.name}, {"namespace", options_.lease.name_space}}}};
  const SteadyTime sent_at = clock_.Now();
  Result<kube::Json> created = client_.Create(kube::kLeases, WithRecord(object, record));
  if (created.status().code() == StatusCode::kAlreadyExists) return Status();  // another process has created it first
  if (!created.ok()) return std::move(created).status();
  Adopt(*std::move(created), record, sent_at);
  return Status();
}

Status LeaderElector::Write(LeaseRecord record) {
  const SteadyTime sent_at = clock_.Now();
  ASSIGN_OR_RETURN(kube::Json written, client_.Replace(kube::kLeases, WithRecord(object_, record)));
  Adopt(std::move(written), record, sent_at);
  return Status();
}

void LeaderElector::Observe(const LeaseRecord& record) {
  MutexLock lock(&mutex_);
  if (observed_at_ != SteadyTime() && IsSameTerm(observed_, record)) return;
  observed_ = record;
  observed_at_ = clock_.Now();
}

// Records that this process holds the Lease. Its term starts at `sent_at`, before the request was sent.
void LeaderElector::Adopt(kube::Json object, const LeaseRecord& record, SteadyTime sent_at) {
  const Result<LeaseRecord> stored = ParseLease(object);
  object_ = std::move(object);
  {
    MutexLock lock(&mutex_);
    observed_ = stored.ok() ? *stored : record;
    observed_at_ = clock_.Now();
    if (role_ != Role::kFollower && role_ != Role::kLeader) return;
    renewed_at_ = sent_at;
    // If the response comes so late that the term is over, the next try renews the Lease.
    if (role_ == Role::kLeader || clock_.Now() - sent_at >= options_.renew_deadline) return;
    role_ = Role::kLeader;
    leads_.Set(1);
  }
  // Without the lock: logging may block, and CheckRenewDeadline must not wait for it.
  Log(Level::kInfo, "leading", {{"lease", kube::ToString(options_.lease)}, {"identity", options_.identity}});
}

bool LeaderElector::IsAvailable(const LeaseRecord& record) const {
  MutexLock lock(&mutex_);
  if (is_stopping_ || (role_ != Role::kFollower && role_ != Role::kLeader)) return false;
  if (record.holder.empty() || record.holder == options_.identity) return true;
  // The holder may be configured with a longer lease_duration than this process.
  const std::chrono::nanoseconds theirs = std::chrono::seconds(std::clamp<int64_t>(record.duration_seconds, 0, 3600));
  return clock_.Now() - observed_at_ >= std::max<std::chrono::nanoseconds>(theirs, options_.lease_duration);
}

LeaseRecord LeaderElector::OwnRecord(const LeaseRecord& before) const {
  LeaseRecord record;
  record.holder = options_.identity;
  record.duration_seconds = std::chrono::ceil<std::chrono::seconds>(options_.lease_duration).count();
  record.renewed_at = kube::SystemTime();
  const bool is_ours = before.holder == options_.identity;
  record.acquired_at = is_ours ? before.acquired_at : record.renewed_at;
  record.transitions = is_ours || before.resource_version.empty() ? before.transitions : before.transitions + 1;
  return record;
}

void LeaderElector::Lose(const char* reason) {
  {
    MutexLock lock(&mutex_);
    if (role_ != Role::kLeader) return;
    role_ = Role::kLost;
  }
  // Called first: logging may block, while other threads continue to write to the cluster.
  lost_();
  leads_.Set(0);
  Log(Level::kError, "lease lost", {{"lease", kube::ToString(options_.lease)}, {"why", reason}});
}

void LeaderElector::CheckRenewDeadline() {
  {
    MutexLock lock(&mutex_);
    if (role_ != Role::kLeader || IsInTerm()) return;
  }
  Lose("it could not be renewed in time");
}

bool LeaderElector::IsInTerm() const { return clock_.Now() - renewed_at_ < options_.renew_deadline; }

void LeaderElector::Start() {
  tries_ = std::jthread([this] { RunTries(); });
  deadlines_ = std::jthread([this] { RunDeadlines(); });
}

void LeaderElector::RunTries() {
  while (true) {
    TryOnce();
    const std::chrono::nanoseconds wait = next_try_at_ - clock_.Now();
    MutexLock lock(&mutex_);
    if (role_ == Role::kLost) return;
    if (mutex_.AwaitBefore(Deadline::After(wait),
                           [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_stopping_; }))
      return;
  }
}

// Runs in a thread of its own, because a try may hang in a request.
void LeaderElector::RunDeadlines() {
  while (true) {
    {
      MutexLock lock(&mutex_);
      const auto can_go_on = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return is_stopping_ || role_ == Role::kLeader;
      };
      if (role_ != Role::kLeader) mutex_.AwaitBefore(Deadline::After(kMaxElectionWait), can_go_on);
      if (role_ == Role::kLeader) {
        const std::chrono::nanoseconds left = options_.renew_deadline - (clock_.Now() - renewed_at_);
        mutex_.AwaitBefore(Deadline::After(left),
                           [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return is_stopping_; });
      }
      if (is_stopping_ || role_ == Role::kLost) return;
    }
    CheckRenewDeadline();
  }
}

bool LeaderElector::WaitToLead(Deadline deadline) {
  MutexLock lock(&mutex_);
  const auto is_decided = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return role_ != Role::kFollower || is_stopping_;
  };
  while (!is_decided() && !deadline.HasPassed(clock_)) {
    // Waits in real time even if clock_ is a fake.
    const auto wait = std::min<std::chrono::nanoseconds>(deadline.Remaining(clock_), kMaxElectionWait);
    mutex_.AwaitBefore(Deadline::After(wait), is_decided);
  }
  return role_ == Role::kLeader && IsInTerm();
}

bool LeaderElector::is_leader() const {
  MutexLock lock(&mutex_);
  return role_ == Role::kLeader && IsInTerm();
}

std::string LeaderElector::holder() const {
  MutexLock lock(&mutex_);
  return observed_.holder;
}

bool LeaderElector::IsHealthy(std::chrono::nanoseconds grace) const {
  MutexLock lock(&mutex_);
  if (role_ != Role::kLeader && role_ != Role::kLost) return true;
  return clock_.Now() - renewed_at_ < options_.lease_duration + grace;
}

void LeaderElector::StopAndRelease() {
  {
    MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  if (tries_.joinable()) tries_.join();
  if (deadlines_.joinable()) deadlines_.join();
  bool leads = false;
  {
    MutexLock lock(&mutex_);
    leads = role_ == Role::kLeader && IsInTerm();
    if (role_ != Role::kLost) role_ = Role::kStopped;
    leads_.Set(0);
  }
  if (leads) Release();
}

void LeaderElector::Release() {
  Status status;
  for (int i = 0; i < kReleaseTries; ++i) {
    Result<LeaseRecord> record = ParseLease(object_);
    if (!record.ok() || record->holder != options_.identity) return;  // not held by this process
    record->holder = "";
    record->duration_seconds = 1;
    record->renewed_at = kube::SystemTime();
    status = client_.Replace(kube::kLeases, WithRecord(object_, *record)).status();
    if (status.code() != StatusCode::kAborted) break;
    Result<kube::Json> lease = client_.Get(kube::kLeases, options_.lease);
    if (!lease.ok()) break;
    object_ = *std::move(lease);
  }
  if (status.ok()) {
    Log(Level::kInfo, "lease released", {{"lease", kube::ToString(options_.lease)}});
  } else {
    Log(Level::kWarning, "lease not released", {{"lease", kube::ToString(options_.lease)}, {"error", status}});
  }
}

}  // namespace espalier::ctl::runtime
