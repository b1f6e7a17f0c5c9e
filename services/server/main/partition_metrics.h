// The metrics espalier_partition_*: the size of a graph server's partition, for comparison between servers.
#pragma once

#include "services/server/main/served_graph.h"
#include "services/telemetry/metrics.h"

namespace espalier::server {

// Sets the metrics; called once, after loading, which took `load_seconds`.
void CountPartition(const LoadedPartition& loaded, double load_seconds, telemetry::MetricRegistry& registry);

}  // namespace espalier::server
