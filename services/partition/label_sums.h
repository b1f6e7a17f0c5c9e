// Adds up weights by label, for vertices whose neighbors have few distinct labels out of many.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace espalier::partition {

// Returns a + b, or the largest uint32_t if the sum exceeds it.
inline uint32_t SaturatingSum(uint32_t a, uint32_t b) {
  const uint32_t sum = a + b;
  return sum < a ? std::numeric_limits<uint32_t>::max() : sum;
}

// A hash table from label to sum, with linear probing. It remembers the order of insertion, so that a loop over it does
// not depend on its capacity. Not thread-safe.
class LabelSums {
 public:
  // Empties the table and makes room for `max_labels` labels.
  void Reset(size_t max_labels) {
    for (const uint32_t slot : used_) slots_[slot].label = kNone;
    used_.clear();
    const size_t capacity = std::bit_ceil(std::max<size_t>(2 * max_labels, 64));
    if (capacity > slots_.size()) {
      slots_.assign(capacity, Slot{});
      used_.reserve(capacity / 2);
    }
    // A vertex with few neighbors uses only the first slots of a large table, which stay in the cache.
    shift_ = 32 - std::countr_zero(capacity);
    mask_ = static_cast<uint32_t>(capacity - 1);
  }

  // Adds the weight to the sum of the label. Reset must be called first; at most `max_labels` distinct labels may be
  // added after it. `label` must not be 2^32 - 1.
  void Add(uint32_t label, uint32_t weight) {
    uint32_t at = (label * kMultiplier) >> shift_;
    while (slots_[at].label != label) {
      if (slots_[at].label == kNone) {
        slots_[at] = {label, weight};
        used_.push_back(at);
        return;
      }
      at = (at + 1) & mask_;
    }
    slots_[at].sum = SaturatingSum(slots_[at].sum, weight);
  }

  size_t size() const { return used_.size(); }

  // Calls body(label, sum) in the order in which the labels were first added.
  template <class Body>
  void ForEach(const Body& body) const {
    for (const uint32_t slot : used_) body(slots_[slot].label, slots_[slot].sum);
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  static constexpr uint32_t kMultiplier = 0x9E3779B1u;  // Knuth's multiplicative hash: 2^32 / golden ratio
  struct Slot {
    uint32_t label = kNone;
    uint32_t sum = 0;
  };

  std::vector<Slot> slots_;
  std::vector<uint32_t> used_;  // indices of the occupied slots, in the order of insertion
  int shift_ = 26;
  uint32_t mask_ = 63;
};

}  // namespace espalier::partition
