// The report that espalier-partitioner writes to standard output.
#pragma once

#include <string>

#include "services/partitioner/partition_pipeline.h"

namespace espalier::partitioner {

// Returns the report as one line of JSON, without a line feed, with the fields uri, partitionKey, reused, graph,
// algorithm, partitions, nodes, edges, cutEdges, cutRatio, replication, balance, seconds, peakMemoryBytes and warnings.
std::string ReportAsJson(const PartitionOutcome& outcome);

// Returns the report as several lines of text for a terminal.
std::string ReportAsText(const PartitionOutcome& outcome);

}  // namespace espalier::partitioner
