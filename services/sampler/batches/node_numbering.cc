// Each slot stores a stamp: base_ plus the number of its node. StartBatch raises base_ above all stamps in use, which
// frees every slot without touching memory; when 32 bits of stamps are used up, MakeRoom resets the table and the
// stamps begin at 1 again. Hash tables use linear probing at a load of at most two thirds.
#include "services/sampler/batches/node_numbering.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "services/base/check.h"

namespace espalier::sampler {
namespace {

constexpr size_t kPrefetchDistance = 32;
constexpr uint32_t kMaxStamp = std::numeric_limits<uint32_t>::max();

// Fibonacci hashing: a table of 2^k slots uses the high k bits of a multiplication.
struct HashToSlot {
  int shift;
  explicit HashToSlot(size_t num_slots) : shift(64 - std::countr_zero(num_slots)) {}
  size_t operator()(uint64_t node) const { return (node * 0x9E3779B97F4A7C15u) >> shift; }
};

}  // namespace

NodeNumbering::NodeNumbering(uint64_t num_nodes, uint64_t direct_limit)
    : num_nodes_(num_nodes),
      is_direct_(num_nodes <= direct_limit),
      is_narrow_(num_nodes <= std::numeric_limits<uint32_t>::max()) {}

void NodeNumbering::StartBatch() {
  // used_ <= kMaxStamp - base_ (MakeRoom), so the sum fits; MakeRoom restarts the stamps when they run out.
  base_ += used_;
  used_ = 0;
}

template <class S>
void NodeNumbering::GrowTable(std::vector<S>& slots, uint64_t num_slots, std::span<const GlobalNodeId> nodes) {
  slots.assign(num_slots, S{});
  const HashToSlot slot_of(num_slots);
  const uint64_t mask = num_slots - 1;
  for (size_t number = 0; number < nodes.size(); ++number) {
    uint64_t slot = slot_of(nodes[number].value);
    while (slots[slot].stamp >= base_) slot = (slot + 1) & mask;
    slots[slot].node = static_cast<decltype(S::node)>(nodes[number].value);
    slots[slot].stamp = base_ + static_cast<uint32_t>(number);
  }
}

void NodeNumbering::MakeRoom(uint64_t num_new, std::span<const GlobalNodeId> nodes) {
  ESPALIER_CHECK(nodes.size() == used_) << "`nodes` was changed by other code than this NodeNumbering";
  const uint64_t wanted = std::min(nodes.size() + num_new, num_nodes_);
  ESPALIER_CHECK(wanted < kMaxStamp) << "a mini-batch must have fewer than 2^32 - 1 nodes of a type";
  const bool restart = wanted > kMaxStamp - base_;
  if (restart) base_ = 1;
  if (is_direct_) {
    if (!restart && !direct_.empty()) return;
    direct_.assign(num_nodes_, 0);
    for (size_t number = 0; number < nodes.size(); ++number) {
      direct_[nodes[number].value] = base_ + static_cast<uint32_t>(number);
    }
    return;
  }
  const size_t num_slots = is_narrow_ ? narrow_.size() : wide_.size();
  if (!restart && num_slots >= wanted + wanted / 2) return;
  const uint64_t larger = std::max<uint64_t>(num_slots, std::bit_ceil(wanted + wanted / 2 + 16));
  if (is_narrow_) {
    GrowTable(narrow_, larger, nodes);
  } else {
    GrowTable(wide_, larger, nodes);
  }
}

void NodeNumbering::NumberDirect(std::span<const GlobalNodeId> ids, std::vector<GlobalNodeId>& nodes,
                                 uint32_t* numbers) {
  uint32_t* const stamps = direct_.data();
  const uint32_t base = base_;
  auto next = base + static_cast<uint32_t>(nodes.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i + kPrefetchDistance < ids.size()) __builtin_prefetch(stamps + ids[i + kPrefetchDistance].value, 1);
    uint32_t stamp = stamps[ids[i].value];
    if (stamp < base) {
      stamps[ids[i].value] = stamp = next++;
      nodes.push_back(ids[i]);
    }
    numbers[i] = stamp - base;
  }
}

template <class S>
void NodeNumbering::NumberHashed(std::vector<S>& slots, std::span<const GlobalNodeId> ids,
                                 std::vector<GlobalNodeId>& nodes, uint32_t* numbers) {
  const HashToSlot slot_of(slots.size());
  const uint64_t mask = slots.size() - 1;
  S* const table = slots.data();
  auto next = base_ + static_cast<uint32_t>(nodes.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i + kPrefetchDistance < ids.size()) __builtin_prefetch(table + slot_of(ids[i + kPrefetchDistance].value), 1);
    const auto node = static_cast<decltype(S::node)>(ids[i].value);
    uint64_t slot = slot_of(node);
    while (table[slot].stamp >= base_ && table[slot].node != node) slot = (slot + 1) & mask;
    if (table[slot].stamp < base_) {
      table[slot] = S{.node = node, .stamp = next++};
      nodes.push_back(ids[i]);
    }
    numbers[i] = table[slot].stamp - base_;
  }
}

void NodeNumbering::Number(std::span<const GlobalNodeId> ids, std::vector<GlobalNodeId>& nodes, uint32_t* numbers) {
  MakeRoom(ids.size(), nodes);
  nodes.reserve(std::min(nodes.size() + ids.size(), num_nodes_));
  if (is_direct_) {
    NumberDirect(ids, nodes, numbers);
  } else if (is_narrow_) {
    NumberHashed(narrow_, ids, nodes, numbers);
  } else {
    NumberHashed(wide_, ids, nodes, numbers);
  }
  used_ = static_cast<uint32_t>(nodes.size());
}

}  // namespace espalier::sampler
