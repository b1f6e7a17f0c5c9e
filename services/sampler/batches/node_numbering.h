// Numbers the nodes of one type in a mini-batch by first occurrence. Apart from reading the graph, sampling spends most
// of its time here: one random access for every drawn edge, so the table's slots are prefetched well before they are
// used.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/graph/ids.h"

namespace espalier::sampler {

// Reused from batch to batch: a slot's stamp shows whether it belongs to the current batch, so nothing is cleared
// between batches. One thread at a time.
class NodeNumbering {
 public:
  // Types of up to `direct_limit` nodes get a table with one slot per node (4 bytes); larger types get a hash table
  // with open addressing that grows with the batch.
  explicit NodeNumbering(uint64_t num_nodes, uint64_t direct_limit = kDefaultDirectLimit);

  // Removes all numbers.
  void StartBatch();

  // Sets numbers[i] to the number of ids[i]. Ids that occur for the first time are appended to `nodes`, which holds the
  // batch's nodes so far (only this object appends to it). ids are below num_nodes.
  void Number(std::span<const GlobalNodeId> ids, std::vector<GlobalNodeId>& nodes, uint32_t* numbers);

  static constexpr uint64_t kDefaultDirectLimit = uint64_t{1} << 24;

 private:
  struct Slot {
    uint64_t node = 0;
    uint32_t stamp = 0;
  };
  struct NarrowSlot {
    uint32_t node = 0;
    uint32_t stamp = 0;
  };

  // Makes room for `num_new` more nodes. `nodes` are the batch's nodes so far.
  void MakeRoom(uint64_t num_new, std::span<const GlobalNodeId> nodes);
  // Replaces a hash table by one with `num_slots` slots, which contains `nodes`.
  template <class S>
  void GrowTable(std::vector<S>& slots, uint64_t num_slots, std::span<const GlobalNodeId> nodes);
  void NumberDirect(std::span<const GlobalNodeId> ids, std::vector<GlobalNodeId>& nodes, uint32_t* numbers);
  template <class S>
  void NumberHashed(std::vector<S>& slots, std::span<const GlobalNodeId> ids, std::vector<GlobalNodeId>& nodes,
                    uint32_t* numbers);

  const uint64_t num_nodes_;
  const bool is_direct_;
  const bool is_narrow_;  // node ids fit 32 bits
  // A slot's stamp is base_ + number; a slot whose stamp is below base_ is of an older batch and counts as free.
  uint32_t base_ = 1;
  uint32_t used_ = 0;               // numbers assigned in this batch
  std::vector<uint32_t> direct_;    // [num_nodes] stamps
  std::vector<NarrowSlot> narrow_;  // hash table; its size is a power of two
  std::vector<Slot> wide_;          // the same for ids of 64 bits
};

}  // namespace espalier::sampler
