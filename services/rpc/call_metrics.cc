#include "services/rpc/call_metrics.h"

namespace espalier::rpc {

CallMetrics::OfMethod CallMetrics::MakeOfMethod(const std::string& method) {
  const telemetry::Labels labels = {{"method", method}};
  OfMethod metrics;
  metrics.seconds = registry_->AddHistogram("espalier_client_call_seconds",
                                            "From asking until the answer, with all tries and the waits between them.",
                                            telemetry::ExponentialBuckets(0.0001, 4, 10), labels);
  const auto retries = [&](const char* cause) {
    return registry_->AddCounter(
        "espalier_client_retries_total",
        "Tries after the first one, by what came of the one before: no answer, or \"not yet\".",
        {{"method", method}, {"cause", cause}});
  };
  metrics.unanswered_retries = retries("no_answer");
  metrics.patient_retries = retries("not_yet");
  metrics.request_bytes =
      registry_->AddCounter("espalier_client_request_bytes_total", "Bytes of requests, those of each try.", labels);
  metrics.reply_bytes = registry_->AddCounter("espalier_client_reply_bytes_total", "Bytes of replies.", labels);
  return metrics;
}

CallMetrics::OfMethod& CallMetrics::Of(const std::string& method) {
  const auto [entry, is_new] = methods_.try_emplace(method);
  if (is_new) entry->second = MakeOfMethod(method);
  return entry->second;
}

void CallMetrics::CountRetry(const std::string& method, RetryCause cause) {
  MutexLock lock(&mutex_);
  OfMethod& metrics = Of(method);
  (cause == RetryCause::kNotYet ? metrics.patient_retries : metrics.unanswered_retries).Add();
}

void CallMetrics::Count(const std::string& method, const Ended& call) {
  MutexLock lock(&mutex_);
  OfMethod& metrics = Of(method);
  const auto [counter, is_new_code] = metrics.by_code.try_emplace(call.code);
  if (is_new_code) {
    counter->second = registry_->AddCounter("espalier_client_calls_total",
                                            "Calls that have ended, by status code; retries are no calls.",
                                            {{"method", method}, {"code", StatusCodeName(call.code)}});
  }
  counter->second.Add();
  metrics.seconds.Observe(call.seconds);
  metrics.request_bytes.Add(static_cast<double>(call.request_bytes) * call.tries);
  metrics.reply_bytes.Add(static_cast<double>(call.reply_bytes));
}

}  // namespace espalier::rpc
