// Numbers the nodes of one type in a mini-batch of temporal sampling, where a node is one row for each time at which
// it is looked at: what it may draw depends on the time, and so does what is computed for it.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "services/graph/ids.h"

namespace espalier::sampler {

// One thread at a time.
class TimedNumbering {
 public:
  // Forgets all numbers. The new batch will have about as many rows as the last: its table grows at once, not step by
  // step.
  void StartBatch() {
    const size_t last = numbers_.size();
    numbers_.clear();
    numbers_.reserve(last);
  }

  // numbers[i] = the number of (ids[i], times[i]); pairs met for the first time are appended to `nodes` and
  // `node_times`, which hold the batch's so far (only this object appends to them). As many times as ids.
  void Number(std::span<const GlobalNodeId> ids, std::span<const int64_t> times, std::vector<GlobalNodeId>& nodes,
              std::vector<int64_t>& node_times, uint32_t* numbers);

 private:
  absl::flat_hash_map<std::pair<uint64_t, int64_t>, uint32_t> numbers_;
};

}  // namespace espalier::sampler
