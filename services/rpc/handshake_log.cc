#include "services/rpc/handshake_log.h"

#include <grpc/support/log.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/telemetry/log.h"

namespace espalier::rpc {
namespace {

// Burst size; the rate is one line per second.
constexpr double kBurstLines = 10;

// Thread-safe.
class LineLimit {
 public:
  // Returns whether a line may be written. If so, sets `left_out` to the number of lines omitted since the last one.
  bool Take(uint64_t* left_out) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    allowed_ = std::min(kBurstLines, allowed_ + since_last_.Seconds());
    since_last_ = Timer();
    if (allowed_ < 1) {
      ++left_out_;
      return false;
    }
    --allowed_;
    *left_out = std::exchange(left_out_, 0);
    return true;
  }

 private:
  Mutex mutex_;
  Timer since_last_ ABSL_GUARDED_BY(mutex_);
  double allowed_ ABSL_GUARDED_BY(mutex_) = kBurstLines;
  uint64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Each source of lines has its own limit, so that many lines of one source do not hide those of the other. Never
// destroyed: gRPC's threads may log until the process exits.
LineLimit& RefusalLimit() {
  static LineLimit* const limit = new LineLimit;
  return *limit;
}
LineLimit& GrpcErrorLimit() {
  static LineLimit* const limit = new LineLimit;
  return *limit;
}

void OnGrpcLog(gpr_log_func_args* line) {
  const std::string_view text = line->message;
  // A server logs this line if its certificate does not contain the host name that the client used. Clients do not
  // check host names: they identify servers by job and role.
  if (gpr_should_log(line->severity) == 0 || text.starts_with("No match found for server name")) return;
  uint64_t left_out = 0;
  if (!GrpcErrorLimit().Take(&left_out)) return;
  const auto contains = [&](std::string_view words) { return text.find(words) != std::string_view::npos; };
  std::string error(text);
  // The messages of OpenSSL omit the likely cause.
  if (contains("certificate verify failed")) {
    error += " The peer's certificate has expired, or was not issued by the job's authority.";
  }
  if (contains("wrong version number")) error += " The peer does not speak TLS.";
  telemetry::Log(telemetry::Level::kWarning, contains("andshake") ? "TLS handshake failed" : "gRPC error",
                 {{"error", error}, {"left_out", left_out}});
}

}  // namespace

void LogRefusal(const char* event, const std::string& subject, const Status& reason) {
  uint64_t left_out = 0;
  if (!RefusalLimit().Take(&left_out)) return;
  telemetry::Log(telemetry::Level::kWarning, event, {{"subject", subject}, {"why", reason}, {"left_out", left_out}});
}

void SendHandshakeErrorsToLog() {
  [[maybe_unused]] static const bool done = [] {
    gpr_set_log_function(&OnGrpcLog);
    return true;
  }();
}

}  // namespace espalier::rpc
