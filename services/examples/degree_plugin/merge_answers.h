// Merges the responses of the plugin on all partitions. The results do not depend on the number of partitions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace example {

// Returns the number of nodes by in-degree, from the responses of the function `in_degrees`, one per partition.
std::map<uint64_t, uint64_t> MergeNodesByDegree(const std::vector<std::string>& answers);

// Returns (value, original id) of the `count` nodes with the largest values, in descending order of values and, for
// equal values, in ascending order of ids. `answers` are the responses of the function `top_rows`, one per partition.
std::vector<std::pair<double, uint64_t>> MergeLargest(const std::vector<std::string>& answers, size_t count);

}  // namespace example
