// Metrics of the calls of this process to servers: espalier_client_*.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/telemetry/metrics.h"

namespace espalier::rpc {

// Why a call is retried. kNoAnswer: the server did not respond. kNotYet: the server responded that it cannot handle the
// call yet (server_answer.h).
enum class RetryCause { kNoAnswer, kNotYet };

// Thread-safe. Shares ownership of the registry, because a call may end on a gRPC thread after its caller has gone.
class CallMetrics {
 public:
  explicit CallMetrics(std::shared_ptr<telemetry::MetricRegistry> registry) : registry_(std::move(registry)) {}

  // Counts a retry of a call of `method` ("GatherRows"). Called when the retry begins, so that metrics show an outage
  // while calls still wait.
  void CountRetry(const std::string& method, RetryCause cause) ABSL_LOCKS_EXCLUDED(mutex_);

  // A call that has ended; `seconds` includes all attempts and the backoff between them.
  struct Ended {
    StatusCode code = StatusCode::kOk;
    int tries = 1;  // 0: stopped before the first attempt
    double seconds = 0;
    size_t request_bytes = 0;  // of one attempt
    size_t reply_bytes = 0;
  };
  void CountCall(const std::string& method, const Ended& call) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct MethodMetrics {
    telemetry::Histogram seconds;
    telemetry::Counter no_answer_retries;
    telemetry::Counter not_yet_retries;
    telemetry::Counter request_bytes;
    telemetry::Counter reply_bytes;
    std::map<StatusCode, telemetry::Counter> by_code;
  };
  MethodMetrics MakeMethodMetrics(const std::string& method);
  MethodMetrics& FindOrAdd(const std::string& method) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<telemetry::MetricRegistry> registry_;
  Mutex mutex_;
  std::map<std::string, MethodMetrics> methods_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::rpc
