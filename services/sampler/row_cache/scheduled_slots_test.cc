#include "services/sampler/row_cache/scheduled_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "services/base/philox.h"

namespace espalier::sampler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using NodeLists = std::vector<std::vector<GlobalNodeId>>;  // by node type

constexpr uint64_t kRowBytes = 40;

std::vector<GlobalNodeId> NodeIds(const std::vector<uint64_t>& ids) {
  std::vector<GlobalNodeId> nodes;
  for (const uint64_t id : ids) nodes.push_back(GlobalNodeId(id));
  return nodes;
}

// Slots whose "rows" are the nodes that they belong to.
class CheckedSlots {
 public:
  explicit CheckedSlots(uint64_t num_slots) : nodes_(num_slots, GlobalNodeId(UINT64_MAX)) {}

  // Carries out a plan for `nodes`, of which `missing` must be read, and checks that it leads to the row of each.
  void Apply(const SlotPlan& plan, const std::vector<GlobalNodeId>& missing, const std::vector<GlobalNodeId>& nodes) {
    std::vector<GlobalNodeId> rows(nodes.size(), GlobalNodeId(UINT64_MAX));
    ASSERT_EQ(plan.hit_places.size(), plan.hit_slots.size());
    for (size_t i = 0; i < plan.hit_places.size(); ++i) {
      rows[static_cast<size_t>(plan.hit_places[i])] = nodes_[static_cast<size_t>(plan.hit_slots[i])];
    }
    ASSERT_EQ(plan.missing_places.size(), missing.size());
    for (size_t i = 0; i < plan.missing_places.size(); ++i) {
      rows[static_cast<size_t>(plan.missing_places[i])] = missing[i];
    }
    EXPECT_EQ(rows, nodes);
    EXPECT_TRUE(std::is_sorted(plan.hit_places.begin(), plan.hit_places.end()));
    EXPECT_TRUE(std::is_sorted(plan.missing_places.begin(), plan.missing_places.end()));
    ASSERT_EQ(plan.stored_rows.size(), plan.stored_slots.size());
    const std::set<int64_t> slots(plan.stored_slots.begin(), plan.stored_slots.end());
    EXPECT_EQ(slots.size(), plan.stored_slots.size());
    for (size_t i = 0; i < plan.stored_rows.size(); ++i) {
      nodes_.at(static_cast<size_t>(plan.stored_slots[i])) = missing[static_cast<size_t>(plan.stored_rows[i])];
    }
    const std::set<GlobalNodeId> kept(nodes_.begin(), nodes_.end());
    const auto num_empty = static_cast<size_t>(std::count(nodes_.begin(), nodes_.end(), GlobalNodeId(UINT64_MAX)));
    EXPECT_EQ(kept.size(), nodes_.size() - num_empty + (num_empty > 0 ? 1 : 0)) << "a row is in one slot only";
  }

 private:
  std::vector<GlobalNodeId> nodes_;  // by slot
};

// Runs steps of one node type, each of which is scheduled `ahead` steps before. Returns the nodes that were missing.
std::vector<uint64_t> RunSteps(const std::vector<std::vector<uint64_t>>& steps, size_t ahead, uint64_t num_slots) {
  ScheduledSlots slots({{num_slots, kRowBytes}});
  CheckedSlots checked(num_slots);
  std::vector<uint64_t> missing;
  size_t num_scheduled = 0;
  for (size_t step = 0; step < steps.size(); ++step) {
    for (; num_scheduled <= step + ahead && num_scheduled < steps.size(); ++num_scheduled) {
      slots.Schedule({NodeIds(steps[num_scheduled])});
    }
    const std::vector<GlobalNodeId> nodes = NodeIds(steps[step]);
    const StepPlan plan = slots.TakeStep({nodes});
    if (num_slots > 0) checked.Apply(plan.slots.at(0), plan.missing_nodes.at(0), nodes);
    for (const GlobalNodeId node : plan.missing_nodes.at(0)) missing.push_back(node.value);
  }
  EXPECT_EQ(slots.counts().missed_rows, missing.size());
  EXPECT_EQ(slots.counts().hit_bytes, slots.counts().hit_rows * kRowBytes);
  return missing;
}

TEST(ScheduledSlotsTest, ReadsARowThatALaterStepReadsOnce) {
  EXPECT_THAT(RunSteps({{5, 6}, {7}, {6, 5}}, 2, 4), ElementsAre(5, 6, 7));
}

TEST(ScheduledSlotsTest, KeepsTheRowsThatAreReadSoonest) {
  EXPECT_THAT(RunSteps({{5, 6, 7}, {7}, {5}, {6}}, 3, 2), ElementsAre(5, 6, 7, 6));
}

// Of the rows that no known step reads, 5 was read most often.
TEST(ScheduledSlotsTest, KeepsTheMostUsedOfTheRowsThatNoKnownStepReads) {
  EXPECT_THAT(RunSteps({{5, 6}, {5}, {7, 8}, {7, 8}, {5}}, 1, 3), ElementsAre(5, 6, 7, 8));
}

TEST(ScheduledSlotsTest, KeepsNoRowsWithoutSlots) { EXPECT_THAT(RunSteps({{5, 6}, {5}}, 1, 0), ElementsAre(5, 6, 5)); }

TEST(ScheduledSlotsTest, PlansEachPlaceOfARepeatedNode) {
  ScheduledSlots slots({{4, kRowBytes}});
  const NodeLists nodes = {NodeIds({7, 5, 7})};
  slots.Schedule(nodes);
  slots.Schedule(nodes);
  const StepPlan first = slots.TakeStep(nodes);
  EXPECT_EQ(first.missing_nodes, nodes);
  EXPECT_THAT(first.slots.at(0).missing_places, ElementsAre(0, 1, 2));
  EXPECT_THAT(first.slots.at(0).stored_rows, ElementsAre(1, 0));
  EXPECT_THAT(first.slots.at(0).stored_slots, ElementsAre(0, 1));
  const StepPlan second = slots.TakeStep(nodes);
  EXPECT_THAT(second.missing_nodes.at(0), IsEmpty());
  EXPECT_THAT(second.slots.at(0).hit_places, ElementsAre(0, 1, 2));
  EXPECT_THAT(second.slots.at(0).hit_slots, ElementsAre(1, 0, 1));
  EXPECT_THAT(second.slots.at(0).stored_rows, IsEmpty());
}

// Several node types, one of them without slots, repeated nodes, and various numbers of slots and known steps.
TEST(ScheduledSlotsTest, PlansLeadToTheRowsOfTheNodes) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    PhiloxStream random(seed, 2);
    const std::vector<SlotsOfType> sizes = {
        {1 + random.NextBelow(8), kRowBytes}, {0, kRowBytes}, {1 + random.NextBelow(20), 8}};
    const size_t ahead = random.NextBelow(6);
    std::vector<NodeLists> steps(60, NodeLists(sizes.size()));
    for (NodeLists& step : steps) {
      for (std::vector<GlobalNodeId>& nodes : step) {
        for (uint64_t i = random.NextBelow(10); i > 0; --i) nodes.push_back(GlobalNodeId(random.NextBelow(16)));
      }
    }
    ScheduledSlots slots(sizes);
    std::vector<CheckedSlots> checked;
    for (const SlotsOfType& of_type : sizes) checked.emplace_back(of_type.num_slots);
    size_t num_scheduled = 0;
    for (size_t step = 0; step < steps.size(); ++step) {
      if (step == 30) {
        slots.AbandonSteps();
        num_scheduled = step;
      }
      for (; num_scheduled <= step + ahead && num_scheduled < steps.size(); ++num_scheduled) {
        slots.Schedule(steps[num_scheduled]);
      }
      const StepPlan plan = slots.TakeStep(steps[step]);
      EXPECT_EQ(plan.missing_nodes.at(1), steps[step][1]);
      for (const size_t type : {0, 2}) {
        checked[type].Apply(plan.slots.at(type), plan.missing_nodes.at(type), steps[step][type]);
      }
    }
    EXPECT_GT(slots.counts().hit_rows, 0u);
  }
}

// An abandoned step would have read 6; of the rows in the slots, 5 was read more often.
TEST(ScheduledSlotsTest, AbandonedStepsDoNotKeepRows) {
  ScheduledSlots slots({{2, kRowBytes}});
  const std::vector<NodeLists> steps = {{NodeIds({5, 6})}, {NodeIds({5})}, {NodeIds({6})}};
  for (const NodeLists& nodes : steps) slots.Schedule(nodes);
  slots.TakeStep(steps[0]);
  slots.TakeStep(steps[1]);
  slots.AbandonSteps();
  const std::vector<NodeLists> others = {{NodeIds({7})}, {NodeIds({7, 5})}};
  for (const NodeLists& nodes : others) slots.Schedule(nodes);
  EXPECT_THAT(slots.TakeStep(others[0]).slots.at(0).stored_slots, ElementsAre(1));
  EXPECT_THAT(slots.TakeStep(others[1]).missing_nodes.at(0), IsEmpty());
}

TEST(DivideIntoSlotsTest, GivesEachNodeASlotOrEachTypeTheSameShare) {
  const std::vector<uint64_t> num_nodes = {100, 50, 1000}, row_bytes = {40, 0, 16};
  const auto counts = [&](uint64_t memory_bytes) {
    std::vector<uint64_t> num_slots;
    for (const SlotsOfType& of_type : DivideIntoSlots(memory_bytes, num_nodes, row_bytes)) {
      num_slots.push_back(of_type.num_slots);
    }
    return num_slots;
  };
  EXPECT_THAT(counts(1 << 20), ElementsAre(100, 0, 1000));
  EXPECT_THAT(counts(20'000), ElementsAre(100, 0, 1000));
  EXPECT_THAT(counts(10'000), ElementsAre(50, 0, 500));
  EXPECT_THAT(counts(100), ElementsAre(0, 0, 5));
  EXPECT_EQ(DivideIntoSlots(100, num_nodes, row_bytes)[2].row_bytes, 16u);
  EXPECT_THAT(DivideIntoSlots(100, {0}, {0})[0].num_slots, 0u);
}

}  // namespace
}  // namespace espalier::sampler
