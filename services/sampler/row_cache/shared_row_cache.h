// A cache of feature rows in memory that the trainers of one machine share: a row that one of them has requested from a
// graph server need not be sent again for the others. Rows are immutable, so it makes no difference which process has
// written a row, and a row that is missing is requested as without the cache.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/base/shared_memory.h"
#include "services/graph/partition_book.h"
#include "services/sampler/access/row_source.h"

namespace espalier::sampler {

// Thread-safe, between processes too. No call waits for another thread or process. A process that is killed while it
// writes a row leaves the row's slot unusable, for as long as the memory exists.
class SharedRowCache {
 public:
  // Uses `memory`, which must be zeroed or used by caches of the same graph and columns only. `graph_key` identifies
  // the partitioning. A row has the bytes of all `columns` of its node type, in their order. The cache uses no other
  // memory for rows. A node type whose share of `memory` is too small for four rows is not cached. FailedPrecondition:
  // the memory is in use for another graph or other columns.
  static Result<std::unique_ptr<SharedRowCache>> Make(std::shared_ptr<SharedMemory> memory,
                                                      const std::string& graph_key, const graph::PartitionBook& book,
                                                      const std::vector<ColumnDescription>& columns);

  // Copies the row of the node to `row`, whose size is that of the type's rows (checked), and returns true. Returns
  // false, with undefined bytes in `row`, if the row is missing or is being replaced.
  bool Find(NodeTypeId type, GlobalNodeId node, std::span<std::byte> row) const;
  // Stores a row, in place of an older one if necessary. Does nothing if the row is stored already, or if another
  // thread or process writes to the slot.
  void Publish(NodeTypeId type, GlobalNodeId node, std::span<const std::byte> row);

  // Returns the bytes of memory that the caches of all processes use together.
  uint64_t AllocatedBytes() const { return memory_->AllocatedBytes(); }

 private:
  using Word = uint64_t;
  struct Slot {
    std::atomic_ref<Word> sequence;
    std::atomic_ref<Word> key;
    Word* row;
  };
  struct Table {
    Word* first = nullptr;  // the first word of the first set
    uint64_t num_sets = 0;  // 0: no row of the type is stored
    size_t words_of_set = 0;
    size_t row_bytes = 0;
  };

  explicit SharedRowCache(std::shared_ptr<SharedMemory> memory) : memory_(std::move(memory)) {}
  void LayOutTables(const graph::PartitionBook& book, const std::vector<ColumnDescription>& columns);
  const Table& FindTable(NodeTypeId type, size_t row_bytes) const;
  static Slot SlotAt(const Table& table, uint64_t node, size_t way);

  const std::shared_ptr<SharedMemory> memory_;
  std::vector<Table> tables_;  // by NodeTypeId
};

}  // namespace espalier::sampler
