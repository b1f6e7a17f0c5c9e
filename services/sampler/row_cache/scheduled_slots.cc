// A step's missing rows are sorted by the next step that reads them. Each is stored in an empty slot, or in place of
// the first row of EvictionOrder if that row would be evicted before it. Rows stored earlier in the same step are read
// no later than it and therefore not replaced, so no slot is written twice in a step.
#include "services/sampler/row_cache/scheduled_slots.h"

#include <algorithm>

#include "services/base/check.h"

namespace espalier::sampler {

std::vector<SlotsOfType> DivideIntoSlots(uint64_t memory_bytes, const std::vector<uint64_t>& num_nodes,
                                         const std::vector<uint64_t>& row_bytes) {
  double all_bytes = 0;
  for (size_t type = 0; type < num_nodes.size(); ++type) {
    all_bytes += static_cast<double>(num_nodes[type]) * static_cast<double>(row_bytes[type]);
  }
  const double share = static_cast<double>(memory_bytes) / std::max(all_bytes, 1.0);
  std::vector<SlotsOfType> slots;
  for (size_t type = 0; type < num_nodes.size(); ++type) {
    SlotsOfType& of_type = slots.emplace_back();
    of_type.row_bytes = row_bytes[type];
    if (of_type.row_bytes == 0) continue;
    of_type.num_slots =
        share >= 1 ? num_nodes[type] : static_cast<uint64_t>(share * static_cast<double>(num_nodes[type]));
  }
  return slots;
}

ScheduledSlots::ScheduledSlots(const std::vector<SlotsOfType>& slots) {
  for (const SlotsOfType& of_type : slots) types_.emplace_back(of_type);
}

void ScheduledSlots::Schedule(const std::vector<std::vector<GlobalNodeId>>& nodes) {
  ESPALIER_CHECK(nodes.size() == types_.size()) << "a step of " << nodes.size() << " node types";
  for (size_t type = 0; type < types_.size(); ++type) {
    std::vector<uint64_t> ids;
    if (types_[type].slots.num_slots > 0) {
      ids.reserve(nodes[type].size());
      for (const GlobalNodeId node : nodes[type]) ids.push_back(node.value);
    }
    types_[type].rows.Schedule(std::move(ids));
  }
}

StepPlan ScheduledSlots::TakeStep(const std::vector<std::vector<GlobalNodeId>>& nodes) {
  ESPALIER_CHECK(nodes.size() == types_.size() && types_.front().rows.num_steps() > 0)
      << "a step that was not scheduled";
  StepPlan plan;
  plan.missing_nodes.resize(types_.size());
  plan.slots.resize(types_.size());
  for (size_t type = 0; type < types_.size(); ++type) {
    TypeSlots& of_type = types_[type];
    std::vector<GlobalNodeId>& missing = plan.missing_nodes[type];
    if (of_type.slots.num_slots > 0) {
      PlanType(of_type, nodes[type], &missing, &plan.slots[type]);
    } else {
      missing = nodes[type];
    }
    of_type.rows.RemoveFirstStep();
    if (of_type.slots.row_bytes == 0) continue;
    const uint64_t num_hits = nodes[type].size() - missing.size();
    counts_.hit_rows += num_hits;
    counts_.hit_bytes += num_hits * of_type.slots.row_bytes;
    counts_.missed_rows += missing.size();
  }
  return plan;
}

void ScheduledSlots::PlanType(TypeSlots& of_type, const std::vector<GlobalNodeId>& nodes,
                              std::vector<GlobalNodeId>* missing, SlotPlan* plan) {
  ScheduledRows& rows = of_type.rows;
  ESPALIER_CHECK(nodes.size() == rows.first_step().num_listed)
      << "a step of " << nodes.size() << " nodes, which was scheduled with " << rows.first_step().num_listed;
  std::vector<Missed> missed;
  for (size_t place = 0; place < nodes.size(); ++place) {
    if (CachedRow* const row = rows.Find(nodes[place].value); row != nullptr) {
      plan->hit_places.push_back(static_cast<int64_t>(place));
      plan->hit_slots.push_back(static_cast<SlotRow*>(row)->slot);
      continue;
    }
    missed.push_back({nodes[place].value, static_cast<int64_t>(missing->size()), kNoKnownStep});
    missing->push_back(nodes[place]);
    plan->missing_places.push_back(static_cast<int64_t>(place));
  }
  std::sort(missed.begin(), missed.end(),
            [](const Missed& a, const Missed& b) { return a.node != b.node ? a.node < b.node : a.index < b.index; });
  const auto same_node = [](const Missed& a, const Missed& b) { return a.node == b.node; };
  missed.erase(std::unique(missed.begin(), missed.end(), same_node), missed.end());
  const std::vector<uint64_t> ids = rows.first_step().ids.ToVector();
  const std::vector<uint32_t> next = rows.NextSteps(ids);
  size_t num_missed = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (num_missed < missed.size() && missed[num_missed].node == ids[i]) {
      missed[num_missed++].next_step = next[i];
    } else {
      rows.RecordUse(rows.Find(ids[i]), next[i]);
    }
  }
  std::stable_sort(missed.begin(), missed.end(),
                   [](const Missed& a, const Missed& b) { return a.next_step < b.next_step; });
  for (const Missed& row : missed) {
    SlotRow* const slot = FindSlot(of_type, row);
    if (slot == nullptr) break;  // the remaining rows are read no sooner than this one
    slot->node = GlobalNodeId(row.node);
    slot->next_step = row.next_step;
    slot->num_uses = 1;
    rows.Add(slot);
    plan->stored_rows.push_back(row.index);
    plan->stored_slots.push_back(slot->slot);
  }
}

ScheduledSlots::SlotRow* ScheduledSlots::FindSlot(TypeSlots& of_type, const Missed& row) {
  if (of_type.by_slot.size() < of_type.slots.num_slots) {
    SlotRow& added = of_type.by_slot.emplace_back();
    added.slot = static_cast<int64_t>(of_type.by_slot.size()) - 1;
    return &added;
  }
  CachedRow* const first = of_type.order.First();
  if (!EvictionOrder::IsEvictedLater(row.next_step, /*num_uses=*/1, *first)) return nullptr;
  of_type.rows.Remove(first);
  return static_cast<SlotRow*>(first);
}

void ScheduledSlots::AbandonSteps() {
  for (TypeSlots& of_type : types_) {
    of_type.rows.RemoveSteps();
    of_type.order.ForgetSteps();
  }
}

}  // namespace espalier::sampler
