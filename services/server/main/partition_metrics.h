// espalier_partition_*: what a graph server has to serve, so that partitions can be compared.
#pragma once

#include "services/server/main/served_graph.h"
#include "services/telemetry/metrics.h"

namespace espalier::server {

// Once, after loading, which took `load_seconds`.
void CountPartition(const LoadedPartition& loaded, double load_seconds, telemetry::MetricRegistry& registry);

}  // namespace espalier::server
