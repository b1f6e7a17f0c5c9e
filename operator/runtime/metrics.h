// Metrics of this library. A metric that also exists in controller-runtime or client-go has the same name as there.
#pragma once

#include <string>

#include "services/telemetry/metrics.h"

namespace espalier::ctl::runtime {

// workqueue_...{name}
struct WorkQueueMetrics {
  WorkQueueMetrics(telemetry::MetricRegistry& registry, const std::string& name);
  telemetry::Gauge depth;
  telemetry::Counter adds;
  telemetry::Counter retries;
  telemetry::Histogram queue_seconds;
  telemetry::Histogram work_seconds;
  telemetry::Gauge unfinished_work_seconds;  // sum over the keys in processing
  telemetry::Gauge longest_running_processor_seconds;
};

// controller_runtime_...{controller}
struct ReconcileMetrics {
  ReconcileMetrics(telemetry::MetricRegistry& registry, const std::string& controller);
  // The first four: controller_runtime_reconcile_total{result}.
  telemetry::Counter succeeded;
  telemetry::Counter failed;
  telemetry::Counter requeued;
  telemetry::Counter requeued_after;
  telemetry::Counter errors;
  telemetry::Histogram seconds;
  telemetry::Gauge active_workers;
  telemetry::Gauge max_concurrent;
};

// espalier_operator_cache_...{resource}
struct CacheMetrics {
  CacheMetrics(telemetry::MetricRegistry& registry, const std::string& resource);
  telemetry::Counter lists;
  telemetry::Counter watches;
  telemetry::Counter events;
  telemetry::Counter failures;
  telemetry::Counter undecodable;
};

// espalier_operator_events_...
struct EventMetrics {
  explicit EventMetrics(telemetry::MetricRegistry& registry);
  telemetry::Counter written;
  telemetry::Counter dropped;    // the queue was full, or the recorder was stopping
  telemetry::Counter abandoned;  // refused, or tried too often
};

// leader_election_master_status{name}
telemetry::Gauge LeaderGauge(telemetry::MetricRegistry& registry, const std::string& lease);

}  // namespace espalier::ctl::runtime
