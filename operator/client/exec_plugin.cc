// If there are no credentials, or they were rejected or are about to expire, Get starts a run of the plugin on a thread
// that passes the result to Finish. Callers wait for is_running_ to become false only if there are no valid
// credentials. Get, Reject and Finish hold mutex_ while they change the state; the run itself does not hold it.
#include "operator/client/exec_plugin.h"

#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "operator/client/exec_credential.h"
#include "services/base/mutex.h"
#include "services/process/program_output.h"

namespace espalier::ctl::client {
namespace {

using std::chrono::seconds;

constexpr seconds kExpiryMargin{10};  // so that the credentials are still valid when the request arrives
constexpr seconds kPauseAfterFailure{5};
// For this time after a successful run, Reject is ignored: requests that were sent with the old token may still fail.
constexpr seconds kRejectGrace{2};

class Plugin final : public CredentialsSource {
 public:
  Plugin(ExecPluginOptions options, WallClock now, Clock& clock)
      : options_(std::move(options)), now_(std::move(now)), clock_(clock) {}

  Result<Credentials> Get(Deadline deadline) override {
    MutexLock lock(&mutex_);
    if (IsValidFor(kExpiryMargin)) return current_->credentials;
    const bool may_run = failure_.ok() || clock_.Now() - failed_at_ >= kPauseAfterFailure;
    if (!is_running_ && may_run) StartRun();
    if (IsValidFor(seconds(0))) return current_->credentials;
    const bool has_ended =
        mutex_.AwaitBefore(deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !is_running_; });
    if (!has_ended) return DeadlineExceeded(Name() + ": it is still running");
    return ResultOfLastRun();
  }

  void Reject() override {
    MutexLock lock(&mutex_);
    if (current_.has_value() && clock_.Now() - fetched_at_ >= kRejectGrace) is_rejected_ = true;
  }

 private:
  void StartRun() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    is_running_ = true;
    // The assignment joins the thread of the previous run, which has ended.
    thread_ = std::jthread([this](const std::stop_token& stop) { Finish(Run(stop)); });
  }

  void Finish(Result<ExecCredential> fresh) {
    MutexLock lock(&mutex_);
    is_running_ = false;
    if (fresh.ok()) {
      current_ = *std::move(fresh);
      is_rejected_ = false;
      failure_ = Status();
      fetched_at_ = clock_.Now();
    } else {
      failure_ = std::move(fresh).status();
      failed_at_ = clock_.Now();
      LogFailure();
    }
  }

  bool IsValidFor(seconds margin) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!current_.has_value() || is_rejected_) return false;
    return !current_->expires_at.has_value() || now_() + margin < *current_->expires_at;
  }

  Result<Credentials> ResultOfLastRun() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (IsValidFor(seconds(0))) return current_->credentials;
    if (!failure_.ok()) return failure_;
    return Status(StatusCode::kUnauthenticated, Name() + ": its credentials have expired already");
  }

  Result<ExecCredential> Run(const std::stop_token& stop) const {
    process::ProgramCall call{
        .command = options_.command, .arguments = options_.arguments, .environment = options_.environment};
    call.environment["KUBERNETES_EXEC_INFO"] = MakeExecInfo(options_.api_version, options_.cluster);
    const Result<std::string> output = process::RunProgram(call, Deadline::After(options_.timeout), stop);
    if (output.ok()) {
      Result<ExecCredential> credential = ParseExecCredential(*output, options_.api_version);
      if (credential.ok()) return credential;
      return Status(StatusCode::kUnauthenticated, credential.status().message()).While(Name());
    }
    std::string message = "exec plugin: " + output.status().message();
    if (output.status().code() == StatusCode::kNotFound && !options_.install_hint.empty()) {
      message += "; " + options_.install_hint;
    }
    return Status(StatusCode::kUnauthenticated, std::move(message));
  }

  void LogFailure() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!IsValidFor(seconds(0))) return;  // Get returns the error
    telemetry::Log(telemetry::Level::kWarning, "cannot renew the credentials; the old ones stay in use",
                   {{"error", failure_}});
  }

  std::string Name() const { return "exec plugin " + options_.command; }

  const ExecPluginOptions options_;
  const WallClock now_;
  Clock& clock_;
  Mutex mutex_;
  bool is_running_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<ExecCredential> current_ ABSL_GUARDED_BY(mutex_);
  bool is_rejected_ ABSL_GUARDED_BY(mutex_) = false;
  SteadyTime fetched_at_ ABSL_GUARDED_BY(mutex_);
  Status failure_ ABSL_GUARDED_BY(mutex_);  // of the last run
  SteadyTime failed_at_ ABSL_GUARDED_BY(mutex_);
  std::jthread thread_ ABSL_GUARDED_BY(mutex_);  // last member: joined before the members that the run uses are gone
};

}  // namespace

std::shared_ptr<CredentialsSource> MakeExecPluginSource(ExecPluginOptions options, WallClock now, Clock& clock) {
  return std::make_shared<Plugin>(std::move(options), std::move(now), clock);
}

}  // namespace espalier::ctl::client
