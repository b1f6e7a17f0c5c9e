// A cache of rows from other machines that uses the schedule of mini-batches. Mini-batches are sampled some steps ahead
// and scheduled here, so the cache knows which of these steps read a row, and keeps the rows that are read soonest
// (Belady, "A study of replacement algorithms for a virtual-storage computer", 1966). The values that a read returns do
// not depend on the cache; only the number of rows that are transferred does.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "services/base/buffer_pool.h"
#include "services/graph/partition_book.h"
#include "services/sampler/access/row_source.h"
#include "services/sampler/row_cache/eviction_order.h"
#include "services/sampler/row_cache/scheduled_rows.h"
#include "services/sampler/row_cache/shared_row_cache.h"

namespace espalier::sampler {

// Remote rows that steps have read, and their bytes. A row that a step reads repeatedly counts once.
struct RowCacheCounts {
  uint64_t hit_rows = 0;      // found in the cache
  uint64_t shared_rows = 0;   // not in the cache, but in the machine's SharedRowCache
  uint64_t fetched_rows = 0;  // requested from graph servers
  uint64_t hit_bytes = 0;
  uint64_t shared_bytes = 0;
  uint64_t fetched_bytes = 0;
};

// Returns whether any partition is remote. If none is, a cache would stay empty.
bool HasRemoteRows(const RowSource& source, const graph::PartitionBook& book);

// Use: Schedule each step's nodes in step order, some steps ahead; then for each step in the same order BeginStep, one
// GatherRows for each cached column of each type, EndStep. After a failure, begin the step again, or abandon it with
// all other scheduled steps (AbandonSteps); a failure does not change the cached rows. Not thread-safe, unlike other
// RowSources.
class ScheduledRowCache final : public RowSource {
 public:
  // Caches these immutable columns of `source` for nodes of remote partitions. Rows, their index and the scheduled
  // steps take at most `memory_bytes`, unless index and steps alone take more; buffers that GatherRows returns are not
  // included. `source` and `book` outlive this. Rows that are not cached are looked up in `shared`, a cache of the same
  // columns, and rows that were requested are published there; null: none.
  ScheduledRowCache(RowSource& source, const graph::PartitionBook& book, const std::vector<ColumnDescription>& columns,
                    uint64_t memory_bytes, std::unique_ptr<SharedRowCache> shared = nullptr);
  ~ScheduledRowCache() override;
  ScheduledRowCache(const ScheduledRowCache&) = delete;
  ScheduledRowCache& operator=(const ScheduledRowCache&) = delete;

  // Returns whether a further step may be scheduled: true if no step is scheduled, false if ScheduledRows::kMaxSteps
  // steps are. Otherwise true if, with a further step as large as the last one, the index and the scheduled steps take
  // at most a third of the memory.
  bool HasRoomForStep() const;
  // Adds a step that reads these nodes, by NodeTypeId. Must not be called between BeginStep and EndStep.
  void Schedule(const std::vector<std::vector<GlobalNodeId>>& nodes);
  // Begins the first scheduled step that has not ended. `nodes` are the nodes that were scheduled for it. If
  // `reads_all` is false, `nodes` may lack nodes whose rows the caller already has. The memory of `nodes` must not move
  // or change until EndStep.
  void BeginStep(const std::vector<std::vector<GlobalNodeId>>& nodes, bool reads_all = true);
  // Ends the begun step. Stores each row that the step has fetched if there is room, or in place of cached rows that
  // come before it in the eviction order.
  void EndStep();
  // Removes the begun step, without storing its rows, and all scheduled steps. Cached rows stay, as rows that no known
  // step reads.
  void AbandonSteps();

  const std::vector<ColumnDescription>& columns() const override { return source_.columns(); }
  // If the column is cached and `nodes` is the list that BeginStep got for the type, copies the cached rows and reads
  // only the missing ones from the source. Forwards all other calls to the source.
  Result<Tensor> GatherRows(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                            Deadline deadline) override;
  bool is_remote(PartitionId partition) const override { return source_.is_remote(partition); }

  const RowCacheCounts& counts() const { return counts_; }
  // Returns SharedRowCache::AllocatedBytes; 0 without a shared cache.
  uint64_t shared_memory_bytes() const { return shared_ == nullptr ? 0 : shared_->AllocatedBytes(); }
  // Returns the memory in use, in bytes: rows, index and scheduled steps.
  uint64_t held_bytes() const { return row_bytes_ + IndexBytes(); }
  uint64_t num_cached_rows() const;

 private:
  struct CachedColumn {
    ColumnDescription description;
    size_t row_bytes = 0;
    size_t offset = 0;  // in CachedRow::bytes
  };
  struct TypeCache {
    explicit TypeCache(EvictionOrder& order) : rows(order) {}

    std::vector<CachedColumn> columns;
    size_t row_bytes = 0;             // of all columns
    std::span<const uint64_t> first;  // PartitionBook::NodeFirst
    ScheduledRows rows;               // the cached rows
    // The members below belong to the begun step. A place is an index into `nodes`; each place is in one of `hits`,
    // `shared_places`, `missing_places` and `repeats`.
    struct Hit {
      uint32_t place;
      CachedRow* row;
    };
    struct Repeat {
      uint32_t place, first_place;
    };
    std::span<const GlobalNodeId> nodes;
    std::vector<Hit> hits;
    std::vector<uint32_t> shared_places;      // of rows found in the shared cache
    std::vector<std::byte> shared_rows;       // [shared_places, row_bytes]
    std::vector<GlobalNodeId> missing_nodes;  // nodes to gather from the source
    std::vector<uint32_t> missing_places;     // [missing_nodes]
    std::vector<Repeat> repeats;              // remote nodes that occur again, ascending by place
    std::vector<Tensor> gathered;             // [columns] empty shape: not gathered yet
  };
  // A row that the begun step has fetched, or has found in the shared cache.
  struct Fetched {
    uint32_t next_step;
    uint32_t place;
    uint16_t type;
  };

  bool IsRemote(const TypeCache& of_type, GlobalNodeId node) const;
  uint64_t IndexBytes() const;
  // Returns the memory of one cached row, with its header, in bytes.
  uint64_t BytesOfRow(const TypeCache& of_type) const;
  // Appends the node's row to shared_rows and returns true, or returns false if the shared cache does not have it.
  bool FindShared(NodeTypeId type, GlobalNodeId node);
  CachedColumn* FindColumn(NodeTypeId type, const std::string& column);
  // Copies the row at `place` of the begun step to `row`, [row_bytes]. All columns must have been gathered.
  static void CopyGathered(const TypeCache& of_type, uint32_t place, std::byte* row);
  // Adds the begun step's remote rows of a type to counts_ and updates the cached ones. If all columns were gathered,
  // appends the other remote rows to `fetched` and publishes those that are not from the shared cache.
  void EndType(uint16_t type, std::vector<Fetched>* fetched);
  // Stores a row of the begun step. Evicts cached rows to make room, but only rows that come before this row in the
  // eviction order. Does not store the row if there is still not enough room.
  void Store(const Fetched& row);
  // Forgets the nodes and rows of the begun step.
  void ClearBegun();
  void Evict(CachedRow* row);

  RowSource& source_;
  const uint64_t memory_bytes_;
  const std::unique_ptr<SharedRowCache> shared_;  // null: none
  std::vector<bool> is_remote_;                   // by partition
  EvictionOrder order_;                           // of the rows of all types
  std::vector<TypeCache> types_;                  // by NodeTypeId
  bool has_begun_ = false;
  uint64_t row_bytes_ = 0;  // of all cached rows, with headers
  RowCacheCounts counts_;
  BufferPool buffers_;
};

}  // namespace espalier::sampler
