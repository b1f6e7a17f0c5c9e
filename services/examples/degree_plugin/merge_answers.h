// What the plugin's answers of all partitions come to: the same for any number of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace example {

// Nodes by in-degree, of all partitions together; `answers` are those of `in_degrees`.
std::map<uint64_t, uint64_t> NodesByDegree(const std::vector<std::string>& answers);

// (value, original id) of the `count` nodes with the largest values; `answers` are those of `top_rows`.
std::vector<std::pair<double, uint64_t>> Largest(const std::vector<std::string>& answers, size_t count);

}  // namespace example
