// The metrics espalier_partition_*: the size and loading of a graph server's partition, for comparison between servers.
#pragma once

#include "services/server/main/served_graph.h"
#include "services/telemetry/metrics.h"

namespace espalier::server {

// Sets the metrics. Called once, after the partition was loaded in `load_seconds`.
void SetPartitionMetrics(const LoadedPartition& loaded, double load_seconds, telemetry::MetricRegistry& registry);

}  // namespace espalier::server
