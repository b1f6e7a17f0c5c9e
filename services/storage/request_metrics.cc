#include "services/storage/request_metrics.h"

namespace espalier::storage {

void RequestMetrics::Record(const RequestRecord& request) {
  MutexLock lock(&mutex_);
  const auto [entry, is_new] = operations_.try_emplace(request.operation);
  OperationSeries& metrics = entry->second;
  if (is_new) {
    const telemetry::Labels labels = {{"operation", request.operation}};
    metrics.seconds = registry_.AddHistogram("espalier_storage_request_seconds",
                                             "Time of one request to S3, from its start to the end of the response.",
                                             telemetry::ExponentialBuckets(0.001, 4, 9), labels);
    metrics.sent_bytes =
        registry_.AddCounter("espalier_storage_sent_bytes_total", "Bytes of bodies sent to S3.", labels);
    metrics.received_bytes =
        registry_.AddCounter("espalier_storage_received_bytes_total", "Bytes of bodies received from S3.", labels);
  }
  const auto [counter, is_new_code] = metrics.by_code.try_emplace(request.code);
  if (is_new_code) {
    counter->second = registry_.AddCounter(
        "espalier_storage_requests_total",
        "Requests to S3, including retries, by operation and HTTP status or the reason why there was no response.",
        {{"operation", request.operation}, {"code", request.code}});
  }
  metrics.seconds.Observe(request.seconds);
  metrics.sent_bytes.Add(static_cast<double>(request.sent_bytes));
  metrics.received_bytes.Add(static_cast<double>(request.received_bytes));
  counter->second.Add();
}

}  // namespace espalier::storage
