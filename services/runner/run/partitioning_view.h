// Converts a partitioner's /status to the text that a run shows while it partitions.
#pragma once

#include <optional>
#include <string>

namespace espalier::run {

struct PartitioningView {
  double fraction = -1;                     // completed fraction of the current phase; negative: unknown
  std::optional<double> remaining_seconds;  // of that phase, extrapolated from its elapsed time
  std::string text;                         // "cutting 12 s  read 1.2 GB  written 300 MB"
};

// Returns nullopt if `json` is not the status of a partitioner, or if the partitioner is between two phases. Ignores
// unknown fields. Accepts untrusted input.
std::optional<PartitioningView> ParsePartitioningStatus(const std::string& json);

}  // namespace espalier::run
