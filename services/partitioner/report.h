// What a finished partitioning has to say for itself.
#pragma once

#include <string>

#include "services/partitioner/partition_pipeline.h"

namespace espalier::partitioner {

// One line of JSON: uri, partitionKey, reused, graph, algorithm, partitions, nodes, edges, cutEdges, cutRatio,
// replication, balance, seconds, peakMemoryBytes.
std::string ReportAsJson(const PartitionOutcome& outcome);

// The same for people, several lines.
std::string ReportAsText(const PartitionOutcome& outcome);

}  // namespace espalier::partitioner
