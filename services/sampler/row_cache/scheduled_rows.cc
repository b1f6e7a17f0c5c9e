// Each known step has the ascending ids of the rows that it reads, compressed. NextSteps compares the ids of the first
// known step with the ids of the second; the ids that were not found there are compared with the ids of the third, and
// so on. This gives the next known step of each row. The comparisons take time (about a nanosecond for each id of each
// known step) but save the memory of an index of all rows that any known step reads.
#include "services/sampler/row_cache/scheduled_rows.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "services/base/check.h"

namespace espalier::sampler {
namespace {

// Returns how many entries a table of this capacity can have without growing, whatever their hashes are.
size_t MaxEntries(size_t capacity) { return (capacity + 1) / 32 * 25; }

// A table gets at least this capacity with its first entry, because smaller tables do not grow as MaxEntries says.
constexpr size_t kMinCapacity = 31;

// Returns the capacity of a table with room for one more entry. Left to itself, a table would grow at MaxEntries or
// later, depending on the tombstones of erased entries and thereby on the hash, which differs from process to process.
// The hits and misses of a cache would then differ from run to run.
template <class Table>
size_t ComputeCapacityForOneMore(const Table& table) {
  if (table.size() < MaxEntries(table.capacity())) return table.capacity();
  return std::max(kMinCapacity, 2 * table.capacity() + 1);
}

}  // namespace

void ScheduledRows::Schedule(std::vector<uint64_t> ids) {
  ESPALIER_CHECK(steps_.size() < kMaxSteps && first_step_ < kNoKnownStep - kMaxSteps)
      << "too many steps: " << steps_.size() << " known steps, the first one with number " << first_step_;
  const uint32_t step = first_step_ + static_cast<uint32_t>(steps_.size());
  const size_t num_listed = ids.size();
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  SetNextStep(ids, step);
  steps_.push_back({AscendingIds(ids), num_listed});
  step_bytes_ += steps_.back().SizeInBytes();
}

void ScheduledRows::SetNextStep(const std::vector<uint64_t>& ids, uint32_t step) {
  if (!order_->HasRowWithoutStep()) return;
  for (const uint64_t id : ids) {
    CachedRow* const row = Find(id);
    if (row == nullptr || row->next_step != kNoKnownStep) continue;
    order_->Remove(row);
    row->next_step = step;
    order_->Add(row);
  }
}

std::vector<uint32_t> ScheduledRows::NextSteps(const std::vector<uint64_t>& ids) const {
  std::vector<uint32_t> next(ids.size(), kNoKnownStep);
  // The ids whose next step has not been found yet, and their indices in `ids`.
  std::vector<uint64_t> remaining = ids;
  std::vector<uint32_t> places(ids.size());
  std::iota(places.begin(), places.end(), 0u);
  for (uint32_t distance = 1; distance < steps_.size() && !remaining.empty(); ++distance) {
    const uint32_t step = first_step_ + distance;
    steps_[distance].ids.Intersect(remaining, [&](size_t i) { next[places[i]] = step; });
    size_t num_remaining = 0;
    for (size_t i = 0; i < remaining.size(); ++i) {
      if (next[places[i]] == step) continue;
      remaining[num_remaining] = remaining[i];
      places[num_remaining++] = places[i];
    }
    remaining.resize(num_remaining);
    places.resize(num_remaining);
  }
  return next;
}

void ScheduledRows::RemoveFirstStep() {
  step_bytes_ -= steps_.front().SizeInBytes();
  steps_.pop_front();
  ++first_step_;
}

void ScheduledRows::RemoveSteps() {
  first_step_ += static_cast<uint32_t>(steps_.size());
  steps_.clear();
  step_bytes_ = 0;
}

void ScheduledRows::Add(CachedRow* row) {
  order_->Add(row);
  const size_t capacity = ComputeCapacityForOneMore(rows_);
  if (capacity != rows_.capacity()) rows_.reserve(MaxEntries(capacity));
  rows_.insert(row);
}

void ScheduledRows::Remove(CachedRow* row) {
  order_->Remove(row);
  rows_.erase(rows_.find(row->node.value));
}

void ScheduledRows::RecordUse(CachedRow* row, uint32_t next_step) {
  order_->Remove(row);
  if (row->num_uses < std::numeric_limits<uint16_t>::max()) ++row->num_uses;
  row->next_step = next_step;
  order_->Add(row);
}

uint64_t ScheduledRows::BytesOfNextEntry() const {
  return (ComputeCapacityForOneMore(rows_) - rows_.capacity()) * kBytesOfEntry;
}

}  // namespace espalier::sampler
