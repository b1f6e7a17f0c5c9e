#include "services/sampler/batches/timed_numbering.h"

namespace espalier::sampler {

void TimedNumbering::Number(std::span<const GlobalNodeId> ids, std::span<const int64_t> times,
                            std::vector<GlobalNodeId>& nodes, std::vector<int64_t>& node_times, uint32_t* numbers) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto [entry, is_new] =
        numbers_.try_emplace(std::pair(ids[i].value, times[i]), static_cast<uint32_t>(nodes.size()));
    if (is_new) {
      nodes.push_back(ids[i]);
      node_times.push_back(times[i]);
    }
    numbers[i] = entry->second;
  }
}

}  // namespace espalier::sampler
