// The order in which a cache gives rows up: first those that no known step reads, the least used of them first, then
// those whose next step is farthest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>

#include "services/graph/ids.h"

namespace espalier::sampler {

inline constexpr uint64_t kNoKnownStep = std::numeric_limits<uint64_t>::max();

// A row in memory. Its bytes, those of all cached columns one after the other, follow this header.
struct CachedRow {
  CachedRow* before = nullptr;  // links of the list in EvictionOrder
  CachedRow* after = nullptr;
  uint64_t next_step = kNoKnownStep;  // the next step that reads the row
  GlobalNodeId node;
  uint32_t num_uses = 0;  // steps that have read the row since it was stored
  NodeTypeId type;

  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
};

// Refers to rows that the caller owns, and whose next_step and num_uses must not change while they are in the order.
// Deterministic: of equal rows, the one that was added first is first. Owned by one thread.
class EvictionOrder {
 public:
  void Add(CachedRow* row);
  void Remove(CachedRow* row);
  // Returns the row to give up first; null if there is none.
  CachedRow* First() const;
  // Returns whether a row with this next step and number of uses is given up later than `row`.
  static bool IsKeptLonger(uint64_t next_step, uint32_t num_uses, const CachedRow& row);

 private:
  struct List {
    CachedRow* first = nullptr;
    CachedRow* last = nullptr;
  };
  // Adds to or removes from the list at `key`, which exists only while it has rows.
  template <class Key>
  static void Append(std::map<Key, List>& lists, Key key, CachedRow* row);
  template <class Key>
  static void Unlink(std::map<Key, List>& lists, Key key, CachedRow* row);

  std::map<uint64_t, List> by_next_step_;  // rows with a known step; as many lists as steps are known
  std::map<uint32_t, List> by_num_uses_;   // the other rows
};

}  // namespace espalier::sampler
