// The metrics espalier_storage_* of requests to S3.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "services/base/mutex.h"
#include "services/telemetry/metrics.h"

namespace espalier::storage {

// One request; a retry is a request of its own.
struct RequestRecord {
  std::string operation;  // S3's name, such as "GetObject"
  std::string code;       // the HTTP status ("503"); without a response, the status code ("DEADLINE_EXCEEDED")
  double seconds = 0;
  // Bytes of the request body and of the response body, without headers.
  uint64_t sent_bytes = 0, received_bytes = 0;
};

// Thread-safe. The registry must outlive this object.
class RequestMetrics {
 public:
  explicit RequestMetrics(telemetry::MetricRegistry& registry) : registry_(registry) {}

  // Counts a finished request.
  void Record(const RequestRecord& request) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct OperationSeries {
    telemetry::Histogram seconds;
    telemetry::Counter sent_bytes, received_bytes;
    std::map<std::string, telemetry::Counter> by_code;
  };

  telemetry::MetricRegistry& registry_;
  Mutex mutex_;
  std::map<std::string, OperationSeries> operations_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::storage
