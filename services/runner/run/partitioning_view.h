// What a run shows while it partitions: a partitioner's /status as text.
#pragma once

#include <optional>
#include <string>

namespace espalier::run {

struct PartitioningView {
  double fraction = -1;                     // of the phase under way; negative: not known
  std::optional<double> remaining_seconds;  // of that phase, as it went so far
  std::string text;                         // "cutting 12 s  read 1.2 GB  written 300 MB"
};

// nullopt for what is no status of a partitioner, and between two phases. Unknown fields are left alone.
std::optional<PartitioningView> ParsePartitioningStatus(const std::string& json);

}  // namespace espalier::run
