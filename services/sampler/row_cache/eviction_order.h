// The order in which a cache evicts rows: rows that no known step reads come before all others, by ascending number of
// uses; then come the other rows, the row with the farthest next step first. A step is known from when it is scheduled
// until it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>

#include "services/graph/ids.h"

namespace espalier::sampler {

inline constexpr uint32_t kNoKnownStep = std::numeric_limits<uint32_t>::max();

// The header of a row in memory. In ScheduledRowCache the row's values follow it, all cached columns one after the
// other.
struct CachedRow {
  CachedRow* before = nullptr;  // links of the list in EvictionOrder
  CachedRow* after = nullptr;
  GlobalNodeId node;
  uint32_t next_step = kNoKnownStep;  // the next known step that reads the row
  uint16_t num_uses = 0;              // steps that have read the row, including the one that stored it; at most 65535
  NodeTypeId type;

  // Returns the values. Only for rows of ScheduledRowCache.
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
};

// Refers to rows that the caller owns. The next_step and num_uses of a row must not change while the row is in the
// order. Two rows tie if they have the same known next step, or no known next step and equal num_uses; the one that
// was added first is evicted first. Owned by one thread.
class EvictionOrder {
 public:
  void Add(CachedRow* row);
  void Remove(CachedRow* row);
  // Returns the row to evict first; null if there is none.
  CachedRow* First() const;
  // Returns whether a row with this next step and number of uses is evicted later than `row`; false for a tie.
  static bool IsEvictedLater(uint32_t next_step, uint16_t num_uses, const CachedRow& row);
  // Sets the next_step of all rows to kNoKnownStep. Rows with equal num_uses keep their previous order of eviction.
  void ForgetSteps();
  // Returns whether there are rows that no known step reads.
  bool HasRowWithoutStep() const { return !by_num_uses_.empty(); }

 private:
  struct List {
    CachedRow* first = nullptr;
    CachedRow* last = nullptr;
  };
  // Lists by next step or by number of uses; a list exists only while it has rows.
  using Lists = std::map<uint32_t, List>;
  static void Append(Lists& lists, uint32_t key, CachedRow* row);
  static void Unlink(Lists& lists, uint32_t key, CachedRow* row);

  Lists by_next_step_;  // rows with a known step; at most one list for each known step
  Lists by_num_uses_;   // the other rows
};

}  // namespace espalier::sampler
