#include "services/server/metrics.h"
#include "services/base/mutex.h"

namespace espalier::server {

RpcMetrics::RpcMetrics(telemetry::MetricRegistry& registry) : registry_(registry) {}

void RpcMetrics::RecordCall(const std::string& method, StatusCode code, double seconds, size_t request_bytes,
                            size_t reply_bytes) {
  MutexLock lock(&mutex_);
  const auto [entry, is_new] = methods_.try_emplace(method);
  MethodSeries& metrics = entry->second;
  if (is_new) {
    metrics.seconds = registry_.AddHistogram(
        "espalier_rpc_call_seconds",
        "Time from a call's arrival to its response; for MiniBatch, the time to make one mini-batch.",
        telemetry::ExponentialBuckets(0.0001, 4, 10), {{"method", method}});
    metrics.request_bytes =
        registry_.AddCounter("espalier_rpc_request_bytes_total", "Bytes of requests.", {{"method", method}});
    metrics.reply_bytes =
        registry_.AddCounter("espalier_rpc_reply_bytes_total", "Bytes of replies.", {{"method", method}});
  }
  const auto [counter, is_new_code] = metrics.by_code.try_emplace(code);
  if (is_new_code) {
    counter->second = registry_.AddCounter("espalier_rpc_calls_total", "Completed calls, by status code.",
                                           {{"method", method}, {"code", StatusCodeName(code)}});
  }
  metrics.seconds.Observe(seconds);
  metrics.request_bytes.Add(static_cast<double>(request_bytes));
  metrics.reply_bytes.Add(static_cast<double>(reply_bytes));
  counter->second.Add();
}

}  // namespace espalier::server
