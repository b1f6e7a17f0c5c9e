// espalier_client_*: what this process asked of servers, and what it waited for.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/telemetry/metrics.h"

namespace espalier::rpc {

// Why a call is tried again: nobody answered, or the server asks for patience.
enum class RetryCause { kNoAnswer, kNotYet };

// Thread-safe. Shares the registry: a call that its owner has given up is counted when it ends, on a thread of gRPC's.
class CallMetrics {
 public:
  explicit CallMetrics(std::shared_ptr<telemetry::MetricRegistry> registry) : registry_(std::move(registry)) {}

  // One more try of a call of a method ("GatherRows"), counted when it begins: a call to a server that is away for long
  // ends long after.
  void CountRetry(const std::string& method, RetryCause cause) ABSL_LOCKS_EXCLUDED(mutex_);

  // One call that has ended for good, tries that failed before included.
  struct Ended {
    StatusCode code = StatusCode::kOk;
    int tries = 1;  // 0: it was over before it began
    double seconds = 0;
    size_t request_bytes = 0;  // of one try
    size_t reply_bytes = 0;
  };
  void Count(const std::string& method, const Ended& call) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct OfMethod {
    telemetry::Histogram seconds;
    telemetry::Counter unanswered_retries;
    telemetry::Counter patient_retries;
    telemetry::Counter request_bytes;
    telemetry::Counter reply_bytes;
    std::map<StatusCode, telemetry::Counter> by_code;
  };
  OfMethod MakeOfMethod(const std::string& method);
  OfMethod& Of(const std::string& method) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<telemetry::MetricRegistry> registry_;
  Mutex mutex_;
  std::map<std::string, OfMethod> methods_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::rpc
