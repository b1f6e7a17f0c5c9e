// Numbers the nodes of one type in a mini-batch of temporal sampling, where a node has one row for each time at which
// it is used: both its possible draws and its computed representation depend on the time.
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
  // Removes all numbers. Reserves room for as many rows as the last batch had, so that the table need not grow again.
  void StartBatch() {
    const size_t last = numbers_.size();
    numbers_.clear();
    numbers_.reserve(last);
  }

  // Sets numbers[i] to the row of the pair (ids[i], times[i]) in `nodes` and `node_times`, which hold the pairs of the
  // batch so far. Pairs that occur for the first time are appended (only this object appends to them). `ids` and
  // `times` have the same length.
  void Number(std::span<const GlobalNodeId> ids, std::span<const int64_t> times, std::vector<GlobalNodeId>& nodes,
              std::vector<int64_t>& node_times, uint32_t* numbers);

 private:
  absl::flat_hash_map<std::pair<uint64_t, int64_t>, uint32_t> numbers_;
};

}  // namespace espalier::sampler
