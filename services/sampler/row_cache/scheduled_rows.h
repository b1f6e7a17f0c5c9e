// The rows of a node type that a cache holds, found by their nodes, and the known steps (scheduled and not yet removed)
// with the nodes whose rows they read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "services/sampler/row_cache/ascending_ids.h"
#include "services/sampler/row_cache/eviction_order.h"

namespace espalier::sampler {

// Schedule sets CachedRow::next_step of the held rows that the new step reads and no earlier known step reads. Before
// RemoveFirstStep, the caller passes each row that the first step reads to RecordUse, with the row's next step from
// NextSteps. Owned by one thread.
class ScheduledRows {
 public:
  // The largest number of steps that may be known at a time.
  static constexpr uint32_t kMaxSteps = 65535;

  // The nodes that a known step reads.
  struct Step {
    AscendingIds ids;
    size_t num_listed = 0;  // nodes in the list that was scheduled; more than ids if the list repeats nodes

    size_t SizeInBytes() const { return ids.SizeInBytes() + sizeof(Step); }
  };

  // `order` outlives this object and contains its rows. The ScheduledRows of several types may share an order if each
  // step is scheduled, and removed, in all of them.
  explicit ScheduledRows(EvictionOrder& order) : order_(&order) {}

  // Adds a step that reads the nodes with these ids, which may repeat.
  void Schedule(std::vector<uint64_t> ids);
  size_t num_steps() const { return steps_.size(); }
  // num_steps() must not be 0.
  const Step& first_step() const { return steps_.front(); }
  const Step& last_step() const { return steps_.back(); }
  // Returns for each of the ascending `ids` the first known step after first_step() that reads it, or kNoKnownStep.
  std::vector<uint32_t> NextSteps(const std::vector<uint64_t>& ids) const;
  void RemoveFirstStep();
  // Removes all known steps. The caller also calls EvictionOrder::ForgetSteps.
  void RemoveSteps();

  // Returns the row of a node; null if there is none.
  CachedRow* Find(uint64_t node) const {
    const auto found = rows_.find(node);
    return found == rows_.end() ? nullptr : *found;
  }
  // Adds a row, which the caller owns and whose next_step the caller has set. Its node has no row yet.
  void Add(CachedRow* row);
  // Removes a row, which the caller may then free.
  void Remove(CachedRow* row);
  // Increments the row's num_uses and sets its next_step.
  void RecordUse(CachedRow* row, uint32_t next_step);
  size_t size() const { return rows_.size(); }

  // Returns the memory of the index of rows and of the known steps, in bytes.
  uint64_t IndexBytes() const { return step_bytes_ + rows_.capacity() * kBytesOfEntry; }
  // Returns by how many bytes Add will increase IndexBytes.
  uint64_t BytesOfNextEntry() const;

 private:
  // Rows are found by their node.
  struct NodeHash {
    using is_transparent = void;
    size_t operator()(uint64_t node) const { return absl::Hash<uint64_t>()(node); }
    size_t operator()(const CachedRow* row) const { return (*this)(row->node.value); }
  };
  struct SameNode {
    using is_transparent = void;
    bool operator()(const CachedRow* a, const CachedRow* b) const { return a->node == b->node; }
    bool operator()(const CachedRow* a, uint64_t node) const { return a->node.value == node; }
  };
  using Index = absl::flat_hash_set<CachedRow*, NodeHash, SameNode>;
  static constexpr size_t kBytesOfEntry = sizeof(void*) + 1;  // of one slot of Index

  // Sets next_step to `step` for the rows with these ids that no known step reads.
  void SetNextStep(const std::vector<uint64_t>& ids, uint32_t step);

  EvictionOrder* order_;
  Index rows_;
  std::deque<Step> steps_;  // known steps; the first has number first_step_
  uint32_t first_step_ = 0;
  uint64_t step_bytes_ = 0;  // of steps_
};

}  // namespace espalier::sampler
