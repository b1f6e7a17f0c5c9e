// Plans which rows are kept in a fixed number of slots, for example in a GPU's memory, with the schedule of
// mini-batches and the policy of ScheduledRowCache. A plan does not contain the values of rows: the owner of the slots
// copies the rows.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "services/graph/ids.h"
#include "services/sampler/row_cache/eviction_order.h"
#include "services/sampler/row_cache/scheduled_rows.h"

namespace espalier::sampler {

// What a step does with the slots of one type. A place is an index into the step's list of nodes. Each place is in
// hit_places or in missing_places, both ascending. The owner of the slots first reads all hits and then writes the
// stored rows, because a stored row may replace a hit.
struct SlotPlan {
  std::vector<int64_t> hit_places;
  std::vector<int64_t> hit_slots;       // [hit_places] the slots that contain the rows
  std::vector<int64_t> missing_places;  // [missing_nodes] the places of StepPlan::missing_nodes
  std::vector<int64_t> stored_rows;     // rows to store, as indices into StepPlan::missing_nodes
  std::vector<int64_t> stored_slots;    // [stored_rows] the slot of each; no slot occurs twice
};

// The plan of a step, by NodeTypeId.
struct StepPlan {
  std::vector<std::vector<GlobalNodeId>> missing_nodes;  // nodes whose rows are in no slot; a node may repeat
  std::vector<SlotPlan> slots;                           // empty lists for types without slots
};

// The number of slots of a node type, and the size of their rows. A type without slots keeps no rows.
struct SlotsOfType {
  uint64_t num_slots = 0;
  uint64_t row_bytes = 0;
};

// Returns the slots of each type: one for each of its nodes if all rows take at most `memory_bytes`; otherwise slots
// for the same share of each type's nodes. Types with rows of 0 bytes get no slots. All lists are by NodeTypeId.
std::vector<SlotsOfType> DivideIntoSlots(uint64_t memory_bytes, const std::vector<uint64_t>& num_nodes,
                                         const std::vector<uint64_t>& row_bytes);

// Rows that steps have read, of types with row_bytes > 0. A row that a step reads repeatedly counts repeatedly.
struct SlotCounts {
  uint64_t hit_rows = 0;     // found in slots
  uint64_t missed_rows = 0;  // not found in slots
  uint64_t hit_bytes = 0;
};

// Use: Schedule each step's nodes in step order, some steps ahead; TakeStep for each step in the same order. Plans
// depend only on the nodes and the order of all these calls. Owned by one thread.
class ScheduledSlots {
 public:
  // `slots` is by NodeTypeId. All slots are empty at first.
  explicit ScheduledSlots(const std::vector<SlotsOfType>& slots);

  // Adds a step that reads these nodes, by NodeTypeId.
  void Schedule(const std::vector<std::vector<GlobalNodeId>>& nodes);
  // Ends the first scheduled step and returns its plan, which the owner of the slots must carry out before the plan of
  // the next step. `nodes` are the nodes that were scheduled for the step.
  StepPlan TakeStep(const std::vector<std::vector<GlobalNodeId>>& nodes);
  // Removes all scheduled steps. Rows in slots stay, as rows that no known step reads.
  void AbandonSteps();

  const SlotCounts& counts() const { return counts_; }

 private:
  // A row in a slot.
  struct SlotRow final : CachedRow {
    int64_t slot = 0;
  };
  struct TypeSlots {
    explicit TypeSlots(const SlotsOfType& size) : slots(size) {}

    const SlotsOfType slots;
    EvictionOrder order;
    ScheduledRows rows{order};
    std::deque<SlotRow> by_slot;  // the slots that have been used
  };
  // A row that the step reads and that is in no slot.
  struct Missed {
    uint64_t node;
    int64_t index;  // into StepPlan::missing_nodes
    uint32_t next_step;
  };

  // Plans the first step of a type with slots.
  static void PlanType(TypeSlots& of_type, const std::vector<GlobalNodeId>& nodes, std::vector<GlobalNodeId>* missing,
                       SlotPlan* plan);
  // Returns an unused slot. If there is none, removes the row to evict first and returns its slot, or returns null if
  // `row` would not be evicted later than that row.
  static SlotRow* FindSlot(TypeSlots& of_type, const Missed& row);

  std::deque<TypeSlots> types_;  // by NodeTypeId
  SlotCounts counts_;
};

}  // namespace espalier::sampler
