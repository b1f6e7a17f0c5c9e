// A cache of rows from other machines that is filled by the schedule of mini-batches. Mini-batches are known some steps
// before they train, so the cache knows which of the known steps read a row, and keeps the rows that are read soonest
// (Belady, "A study of replacement algorithms for a virtual-storage computer", 1966). Every read returns what the graph
// returns: the cache decides only which rows travel.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/buffer_pool.h"
#include "services/graph/partition_book.h"
#include "services/sampler/access/row_source.h"
#include "services/sampler/row_cache/eviction_order.h"

namespace espalier::sampler {

// Remote rows that steps have read, and their bytes. A row read by several nodes of a step counts once.
struct RowCacheCounts {
  uint64_t hit_rows = 0;      // found in the cache
  uint64_t fetched_rows = 0;  // requested from graph servers
  uint64_t hit_bytes = 0;
  uint64_t fetched_bytes = 0;
};

// Returns whether any partition is remote: otherwise a cache holds nothing.
bool HasRemoteRows(const RowSource& source, const graph::PartitionBook& book);

// Use: Schedule each step's nodes in step order, some steps ahead; then for each step in the same order BeginStep, one
// GatherRows for each cached column of each type, EndStep. A step that fails is begun again or abandoned with the
// cache; a failure leaves the cached rows as they were. Unlike other sources, owned by one thread.
class ScheduledRowCache final : public RowSource {
 public:
  // The most steps that are known at a time.
  static constexpr uint32_t kMostSteps = 65535;

  // Caches these columns of `source`, which must be immutable, for nodes of remote partitions. Rows, their index and
  // the known steps take at most `memory_bytes`, unless the index of one step alone takes more than two thirds of it.
  // Buffers that GatherRows returns come in addition. `source` and `book` outlive this.
  ScheduledRowCache(RowSource& source, const graph::PartitionBook& book, const std::vector<ColumnDescription>& columns,
                    uint64_t memory_bytes);
  ~ScheduledRowCache() override;
  ScheduledRowCache(const ScheduledRowCache&) = delete;
  ScheduledRowCache& operator=(const ScheduledRowCache&) = delete;

  // Returns whether a further step may be scheduled: with it the index takes at most a third of
  // the memory.
  bool HasRoomForStep() const;
  // Adds a step that reads these nodes, by NodeTypeId. Not while a step is begun.
  void Schedule(const std::vector<std::vector<GlobalNodeId>>& nodes);
  // Begins the first scheduled step that has not ended. `nodes` are those that were scheduled for it; their memory must
  // not move or change until EndStep.
  void BeginStep(const std::vector<std::vector<GlobalNodeId>>& nodes);
  // Stores rows that the step has fetched in place of rows that are read later. Ends the step.
  void EndStep();

  const std::vector<ColumnDescription>& columns() const override { return source_.columns(); }
  // Returns rows, from the cache where it has them if `nodes` is the list of the begun step and the column is cached.
  // Forwards other reads.
  Result<Tensor> GatherRows(NodeTypeId type, const std::string& column, std::span<const GlobalNodeId> nodes,
                            Deadline deadline) override;
  bool is_remote(PartitionId partition) const override { return source_.is_remote(partition); }

  const RowCacheCounts& counts() const { return counts_; }
  // Returns the memory in use, in bytes: rows, index and known steps.
  uint64_t held_bytes() const { return row_bytes_ + IndexBytes(); }
  uint64_t num_cached_rows() const { return num_cached_rows_; }

 private:
  // What is known of a row that is cached or that a known step reads.
  struct RowState {
    CachedRow* row = nullptr;   // null: not cached
    uint32_t last_index = 0;    // in StepRows of the last known step that reads the row
    uint16_t last_step = 0;     // that step, modulo 2^16
    bool is_scheduled = false;  // false: no known step reads the row, and last_step and last_index mean nothing
  };
  static constexpr size_t kBytesOfState = sizeof(uint64_t) + sizeof(RowState) + 1;  // in a map of states
  // The remote rows of one type that a known step reads.
  struct StepRows {
    std::vector<uint32_t> places;     // [rows] the first index of each in the step's nodes, ascending
    std::vector<uint16_t> distances;  // [rows] steps until the next known step that reads the row; 0: none
    struct Repeat {
      uint32_t place, first_place;
    };
    std::vector<Repeat> repeats;  // nodes that occur again, ascending by place
    size_t num_nodes = 0;

    size_t SizeInBytes() const;
  };
  struct CachedColumn {
    ColumnDescription description;
    size_t row_bytes = 0;
    size_t offset = 0;  // in CachedRow::bytes
  };
  struct OfType {
    std::vector<CachedColumn> columns;
    size_t row_bytes = 0;  // of all columns
    std::span<const uint64_t> first;
    absl::flat_hash_map<uint64_t, RowState> states;  // by global id
    // Of the begun step:
    std::span<const GlobalNodeId> nodes;
    std::vector<CachedRow*> rows;           // [rows of StepRows] null: not cached
    std::vector<GlobalNodeId> asked;        // nodes to gather from the source
    std::vector<uint32_t> places_of_asked;  // [asked]
    std::vector<Tensor> gathered;           // [columns] empty shape: not gathered yet
  };

  bool IsRemote(const OfType& of_type, GlobalNodeId node) const;
  uint64_t IndexBytes() const;
  uint64_t BytesOfRow(const OfType& of_type) const;
  // Adds `step` as the next known step of a row that earlier steps or the cache have.
  void Link(uint16_t type, RowState& state, uint64_t step);
  CachedColumn* FindColumn(NodeTypeId type, const std::string& column);
  void UpdateHits(uint16_t type);
  void StoreFetched();
  // Stores a row of the begun step, unless the rows in its place would be kept longer.
  void Store(uint16_t type, uint32_t index, uint64_t next_step);
  // Updates the states of the begun step's rows, which it has read.
  void Unschedule(uint16_t type);
  void Evict(CachedRow* row);

  RowSource& source_;
  const uint64_t memory_bytes_;
  std::vector<bool> is_remote_;  // by partition
  std::vector<OfType> types_;    // by NodeTypeId
  // Known steps; the first has number first_step_. By NodeTypeId.
  std::deque<std::vector<StepRows>> steps_;
  uint64_t first_step_ = 0;
  bool has_begun_ = false;
  EvictionOrder order_;
  uint64_t row_bytes_ = 0;   // of all cached rows, with headers
  uint64_t step_bytes_ = 0;  // of steps_
  uint64_t num_cached_rows_ = 0;
  RowCacheCounts counts_;
  BufferPool buffers_;
};

}  // namespace espalier::sampler
