#include "services/rpc/call_metrics.h"

namespace espalier::rpc {

CallMetrics::MethodMetrics CallMetrics::MakeMethodMetrics(const std::string& method) {
  const telemetry::Labels labels = {{"method", method}};
  MethodMetrics metrics;
  metrics.seconds = registry_->AddHistogram("espalier_client_call_seconds",
                                            "Duration of a call, including all attempts and the backoff between them.",
                                            telemetry::ExponentialBuckets(0.0001, 4, 10), labels);
  const auto retries = [&](const char* cause) {
    return registry_->AddCounter(
        "espalier_client_retries_total",
        "Retries, by the outcome of the previous attempt: no response, or the response \"not yet\".",
        {{"method", method}, {"cause", cause}});
  };
  metrics.no_answer_retries = retries("no_answer");
  metrics.not_yet_retries = retries("not_yet");
  metrics.request_bytes = registry_->AddCounter("espalier_client_request_bytes_total",
                                                "Bytes of requests, counted for each attempt.", labels);
  metrics.reply_bytes = registry_->AddCounter("espalier_client_reply_bytes_total", "Bytes of replies.", labels);
  return metrics;
}

CallMetrics::MethodMetrics& CallMetrics::FindOrAdd(const std::string& method) {
  const auto [entry, is_new] = methods_.try_emplace(method);
  if (is_new) entry->second = MakeMethodMetrics(method);
  return entry->second;
}

void CallMetrics::CountRetry(const std::string& method, RetryCause cause) {
  MutexLock lock(&mutex_);
  MethodMetrics& metrics = FindOrAdd(method);
  (cause == RetryCause::kNotYet ? metrics.not_yet_retries : metrics.no_answer_retries).Add();
}

void CallMetrics::CountCall(const std::string& method, const Ended& call) {
  MutexLock lock(&mutex_);
  MethodMetrics& metrics = FindOrAdd(method);
  const auto [counter, is_new_code] = metrics.by_code.try_emplace(call.code);
  if (is_new_code) {
    counter->second = registry_->AddCounter("espalier_client_calls_total",
                                            "Calls that have ended, by status code. A call with retries counts once.",
                                            {{"method", method}, {"code", StatusCodeName(call.code)}});
  }
  counter->second.Add();
  metrics.seconds.Observe(call.seconds);
  metrics.request_bytes.Add(static_cast<double>(call.request_bytes) * call.tries);
  metrics.reply_bytes.Add(static_cast<double>(call.reply_bytes));
}

}  // namespace espalier::rpc
