// espalier_storage_*: what a process asked of S3.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "services/base/mutex.h"
#include "services/telemetry/metrics.h"

namespace espalier::storage {

// One request, the repeated ones too.
struct RequestRecord {
  std::string operation;  // by S3's name: "GetObject"
  std::string code;       // the answer's HTTP status, "503", or why there was none, "DEADLINE_EXCEEDED"
  double seconds = 0;
  uint64_t sent_bytes = 0, received_bytes = 0;  // of bodies
};

// Thread-safe. The registry outlives this.
class RequestMetrics {
 public:
  explicit RequestMetrics(telemetry::MetricRegistry& registry) : registry_(registry) {}

  void Finished(const RequestRecord& request) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct OfOperation {
    telemetry::Histogram seconds;
    telemetry::Counter sent_bytes, received_bytes;
    std::map<std::string, telemetry::Counter> by_code;
  };

  telemetry::MetricRegistry& registry_;
  Mutex mutex_;
  std::map<std::string, OfOperation> operations_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::storage
