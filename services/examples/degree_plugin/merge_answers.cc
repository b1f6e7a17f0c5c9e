#include "merge_answers.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace example {

std::map<uint64_t, uint64_t> MergeNodesByDegree(const std::vector<std::string>& answers) {
  std::map<uint64_t, uint64_t> nodes_by_degree;
  for (const std::string& answer : answers) {
    std::istringstream lines(answer);
    for (uint64_t degree = 0, nodes = 0; lines >> degree >> nodes;) nodes_by_degree[degree] += nodes;
  }
  return nodes_by_degree;
}

std::vector<std::pair<double, uint64_t>> MergeLargest(const std::vector<std::string>& answers, size_t count) {
  std::vector<std::pair<double, uint64_t>> rows;
  for (const std::string& answer : answers) {
    std::istringstream lines(answer);
    std::string value;  // a word, because operator>> does not read "inf" as a number
    for (uint64_t id = 0; lines >> value >> id;) rows.emplace_back(std::strtod(value.c_str(), nullptr), id);
  }
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  rows.resize(std::min(rows.size(), count));
  return rows;
}

}  // namespace example
