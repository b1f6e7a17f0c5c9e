// The metrics espalier_rpc_*: number, duration and size of the calls that a server process answered. Describe of
// GraphStore is not counted, and each mini-batch of a stream counts as one call without a request.
#pragma once

#include <map>
#include <string>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/telemetry/metrics.h"

namespace espalier::server {

// Thread-safe. The registry outlives this object.
class RpcMetrics {
 public:
  explicit RpcMetrics(telemetry::MetricRegistry& registry);

  // Records one finished call of a method ("GatherRows"). Sizes include the headers of frames; reply_bytes is 0 for an
  // error.
  void RecordCall(const std::string& method, StatusCode code, double seconds, size_t request_bytes, size_t reply_bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct MethodSeries {
    telemetry::Histogram seconds;
    telemetry::Counter request_bytes;
    telemetry::Counter reply_bytes;
    std::map<StatusCode, telemetry::Counter> by_code;
  };

  telemetry::MetricRegistry& registry_;
  Mutex mutex_;
  std::map<std::string, MethodSeries> methods_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::server
