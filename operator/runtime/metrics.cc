#include "operator/runtime/metrics.h"

namespace espalier::ctl::runtime {
namespace {

using telemetry::ExponentialBuckets;

// Returns the buckets of client-go: 10 ns to 1000 s.
std::vector<double> QueueBuckets() { return ExponentialBuckets(1e-8, 10, 12); }

// Returns the buckets of controller-runtime.
const std::vector<double>& ReconcileBuckets() {
  static const std::vector<double> kBuckets{
      0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,  1.25, 1.5,
      1.75,  2,    2.5,   3,    3.5, 4,    4.5, 5,    6,   7,    8,   9,    10,  15,  20,  25,  30,  40, 50,   60};
  return kBuckets;
}

telemetry::Counter ReconcileTotal(telemetry::MetricRegistry& registry, const std::string& controller,
                                  const std::string& result) {
  return registry.AddCounter("controller_runtime_reconcile_total", "Reconciles by result.",
                             {{"controller", controller}, {"result", result}});
}

}  // namespace

WorkQueueMetrics::WorkQueueMetrics(telemetry::MetricRegistry& registry, const std::string& name)
    : depth(registry.AddGauge("workqueue_depth", "Keys that wait for a worker.", {{"name", name}})),
      adds(registry.AddCounter("workqueue_adds_total", "Added keys.", {{"name", name}})),
      retries(registry.AddCounter("workqueue_retries_total", "Keys added with a delay.", {{"name", name}})),
      queue_seconds(registry.AddHistogram("workqueue_queue_duration_seconds",
                                          "Time from Add until a worker takes the key.", QueueBuckets(),
                                          {{"name", name}})),
      work_seconds(registry.AddHistogram("workqueue_work_duration_seconds",
                                         "Time that a worker takes to process a key.", QueueBuckets(),
                                         {{"name", name}})),
      unfinished_work_seconds(registry.AddGauge("workqueue_unfinished_work_seconds",
                                                "Sum of the processing times so far of the keys that workers are "
                                                "processing.",
                                                {{"name", name}})),
      longest_running_processor_seconds(registry.AddGauge(
          "workqueue_longest_running_processor_seconds",
          "Longest processing time so far among the keys that workers are processing.", {{"name", name}})) {}

ReconcileMetrics::ReconcileMetrics(telemetry::MetricRegistry& registry, const std::string& controller)
    : succeeded(ReconcileTotal(registry, controller, "success")),
      failed(ReconcileTotal(registry, controller, "error")),
      requeued(ReconcileTotal(registry, controller, "requeue")),
      requeued_after(ReconcileTotal(registry, controller, "requeue_after")),
      errors(registry.AddCounter("controller_runtime_reconcile_errors_total", "Reconciles that failed.",
                                 {{"controller", controller}})),
      seconds(registry.AddHistogram("controller_runtime_reconcile_time_seconds", "Duration of a reconcile.",
                                    ReconcileBuckets(), {{"controller", controller}})),
      active_workers(registry.AddGauge("controller_runtime_active_workers", "Workers that are processing a key.",
                                       {{"controller", controller}})),
      max_concurrent(registry.AddGauge("controller_runtime_max_concurrent_reconciles", "Number of workers.",
                                       {{"controller", controller}})) {}

CacheMetrics::CacheMetrics(telemetry::MetricRegistry& registry, const std::string& resource)
    : lists(registry.AddCounter("espalier_operator_cache_lists_total", "Started lists.", {{"resource", resource}})),
      watches(
          registry.AddCounter("espalier_operator_cache_watches_total", "Started watches.", {{"resource", resource}})),
      events(registry.AddCounter("espalier_operator_cache_events_total", "Lines received from watches.",
                                 {{"resource", resource}})),
      failures(registry.AddCounter("espalier_operator_cache_failures_total", "Lists and watches that failed.",
                                   {{"resource", resource}})),
      undecodable(registry.AddCounter("espalier_operator_cache_undecodable_total",
                                      "Objects and events skipped because they cannot be decoded.",
                                      {{"resource", resource}})) {}

EventMetrics::EventMetrics(telemetry::MetricRegistry& registry)
    : written(registry.AddCounter("espalier_operator_events_written_total", "Requests that wrote an Event.")),
      dropped(registry.AddCounter("espalier_operator_events_dropped_total",
                                  "Events dropped because the queue was full or the operator was stopping.")),
      abandoned(registry.AddCounter("espalier_operator_events_abandoned_total",
                                    "Events that the server refused, or that were retried too often.")) {}

telemetry::Gauge LeaderGauge(telemetry::MetricRegistry& registry, const std::string& lease) {
  return registry.AddGauge("leader_election_master_status", "1 if this process is the leader.", {{"name", lease}});
}

}  // namespace espalier::ctl::runtime
