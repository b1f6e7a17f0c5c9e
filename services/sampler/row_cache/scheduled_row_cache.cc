// Each known step has the ascending ids of the remote rows that it reads, compressed. When a step ends, its ids are
// compared with those of the next step, the ids that the next step does not read with those of the step after it, and
// so on: this gives the next known step of each row. The comparisons take time (about a nanosecond for each id of each
// known step) but save the memory of an index of all rows that any known step reads.
//
// EndStep orders the rows it has fetched by their next step and stores them one after the other, each in place of rows
// that are read later. If all rows have one size, the cache then holds those of the rows that it had or fetched that
// are read soonest. This is the optimum for the known steps. Rows that no known step reads fill the rest, the most used
// first: how often a row was read estimates how soon it is read again. With rows of several sizes the rule is the same
// and no longer optimal.
//
// A row that the step reads and that makes room for another is freed only in EndStep, after all columns were copied.
//
// BeginStep copies rows from the shared cache, because another process may replace them at any time. EndStep treats
// them like fetched rows, so the cached rows do not depend on the shared cache.
#include "services/sampler/row_cache/scheduled_row_cache.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "services/base/check.h"
#include "services/sampler/access/owner_route.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::sampler {
namespace {

constexpr size_t kIdleBufferBytes = size_t{1} << 30;
constexpr size_t kAllocatorBytes = 16;  // an allocation's overhead
constexpr size_t kPrefetchRows = 8;

// Returns how many entries a table of this capacity has before it grows.
size_t MaxEntries(size_t capacity) { return (capacity + 1) / 32 * 25; }

// The capacity of a table that was empty. Smaller tables grow by other rules.
constexpr size_t kMinCapacity = 31;

// Returns the capacity of a table with room for one more entry. A table that grows by itself does so at this size or
// later, depending on the traces of erased entries and thereby on the hash, which differs from process to process. The
// counts of a cache would then differ from run to run.
template <class Table>
size_t CapacityForOneMore(const Table& table) {
  if (table.size() < MaxEntries(table.capacity())) return table.capacity();
  return std::max(kMinCapacity, 2 * table.capacity() + 1);
}

}  // namespace

bool HasRemoteRows(const RowSource& source, const graph::PartitionBook& book) {
  for (uint32_t p = 0; p < book.num_partitions(); ++p) {
    if (source.is_remote(PartitionId(p))) return true;
  }
  return false;
}

ScheduledRowCache::ScheduledRowCache(RowSource& source, const graph::PartitionBook& book,
                                     const std::vector<ColumnDescription>& columns, uint64_t memory_bytes,
                                     std::unique_ptr<SharedRowCache> shared)
    : source_(source),
      memory_bytes_(memory_bytes),
      shared_(std::move(shared)),
      types_(book.schema().num_node_types()),
      buffers_(kIdleBufferBytes) {
  for (uint32_t p = 0; p < book.num_partitions(); ++p) is_remote_.push_back(source.is_remote(PartitionId(p)));
  for (uint16_t type = 0; type < types_.size(); ++type) types_[type].first = book.NodeFirst(NodeTypeId(type));
  for (const ColumnDescription& column : columns) {
    TypeCache& of_type = types_[column.node_type.value];
    const size_t row_bytes = RowBytes(column.dtype, column.row_shape);
    of_type.columns.push_back({column, row_bytes, of_type.row_bytes});
    of_type.row_bytes += row_bytes;
  }
}

ScheduledRowCache::~ScheduledRowCache() {
  for (CachedRow* row = order_.First(); row != nullptr; row = order_.First()) Evict(row);
}

bool ScheduledRowCache::IsRemote(const TypeCache& of_type, GlobalNodeId node) const {
  return is_remote_[FindRange(of_type.first, node.value)];
}

CachedRow* ScheduledRowCache::Find(const TypeCache& of_type, uint64_t node) {
  const auto found = of_type.cached.find(node);
  return found == of_type.cached.end() ? nullptr : *found;
}

uint64_t ScheduledRowCache::IndexBytes() const {
  uint64_t bytes = step_bytes_;
  for (const TypeCache& of_type : types_) bytes += of_type.cached.capacity() * kBytesOfEntry;
  return bytes;
}

uint64_t ScheduledRowCache::BytesOfRow(const TypeCache& of_type) const {
  return sizeof(CachedRow) + of_type.row_bytes + kAllocatorBytes;
}

bool ScheduledRowCache::HasRoomForStep() const {
  if (steps_.empty()) return true;
  if (steps_.size() >= kMaxSteps) return false;
  uint64_t bytes = IndexBytes();
  for (const StepRows& last : steps_.back()) bytes += last.SizeInBytes();  // assumes that the next step is as large
  return bytes <= memory_bytes_ / 3;
}

void ScheduledRowCache::AddKnownStep(TypeCache& of_type, const std::vector<uint64_t>& ids, uint32_t step) {
  if (!order_.HasRowWithoutStep()) return;
  for (const uint64_t id : ids) {
    CachedRow* const row = Find(of_type, id);
    if (row == nullptr || row->next_step != kNoKnownStep) continue;
    order_.Remove(row);
    row->next_step = step;
    order_.Add(row);
  }
}

void ScheduledRowCache::Schedule(const std::vector<std::vector<GlobalNodeId>>& nodes) {
  ESPALIER_CHECK(!has_begun_ && nodes.size() == types_.size() && steps_.size() < kMaxSteps &&
                 first_step_ < kNoKnownStep - kMaxSteps)
      << "a step of " << nodes.size() << " node types after step " << first_step_ << " and " << steps_.size()
      << " known steps";
  const uint32_t step = first_step_ + static_cast<uint32_t>(steps_.size());
  std::vector<StepRows>& of_step = steps_.emplace_back(types_.size());
  for (uint16_t type = 0; type < types_.size(); ++type) {
    TypeCache& of_type = types_[type];
    StepRows& rows = of_step[type];
    rows.num_nodes = nodes[type].size();
    if (of_type.columns.empty()) continue;
    std::vector<uint64_t> ids;
    ids.reserve(nodes[type].size());
    for (const GlobalNodeId node : nodes[type]) {
      if (IsRemote(of_type, node)) ids.push_back(node.value);
    }
    rows.num_remote_nodes = ids.size();
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    rows.ids = AscendingIds(ids);
    AddKnownStep(of_type, ids, step);
  }
  for (const StepRows& rows : of_step) step_bytes_ += rows.SizeInBytes();
  while (held_bytes() > memory_bytes_ && order_.First() != nullptr) Evict(order_.First());
}

void ScheduledRowCache::BeginStep(const std::vector<std::vector<GlobalNodeId>>& nodes) {
  ESPALIER_CHECK(!steps_.empty() && nodes.size() == types_.size()) << "a step that was not scheduled";
  has_begun_ = true;
  for (uint16_t type = 0; type < types_.size(); ++type) {
    TypeCache& of_type = types_[type];
    const StepRows& rows = steps_.front()[type];
    ESPALIER_CHECK(nodes[type].size() == rows.num_nodes)
        << "a step of " << nodes[type].size() << " nodes, which was scheduled with " << rows.num_nodes;
    of_type.nodes = nodes[type];
    of_type.hits.clear();
    of_type.shared_places.clear();
    of_type.shared_rows.clear();
    of_type.missing_nodes.clear();
    of_type.missing_places.clear();
    of_type.repeats.clear();
    of_type.gathered.assign(of_type.columns.size(), Tensor());
    if (of_type.columns.empty()) continue;
    const bool has_repeats = rows.num_remote_nodes > rows.ids.size();
    absl::flat_hash_map<uint64_t, uint32_t> first_places;
    for (uint32_t place = 0; place < of_type.nodes.size(); ++place) {
      const GlobalNodeId node = of_type.nodes[place];
      if (IsRemote(of_type, node)) {
        if (has_repeats) {
          const auto [first, is_first] = first_places.try_emplace(node.value, place);
          if (!is_first) {
            of_type.repeats.push_back({place, first->second});
            continue;
          }
        }
        if (CachedRow* const row = Find(of_type, node.value); row != nullptr) {
          of_type.hits.push_back({place, row});
          continue;
        }
        if (FindShared(NodeTypeId(type), node)) {
          of_type.shared_places.push_back(place);
          continue;
        }
      }
      of_type.missing_nodes.push_back(node);
      of_type.missing_places.push_back(place);
    }
  }
}

bool ScheduledRowCache::FindShared(NodeTypeId type, GlobalNodeId node) {
  if (shared_ == nullptr) return false;
  TypeCache& of_type = types_[type.value];
  std::vector<std::byte>& rows = of_type.shared_rows;
  rows.resize(rows.size() + of_type.row_bytes);
  const bool is_found = shared_->Find(type, node, std::span(rows).last(of_type.row_bytes));
  if (!is_found) rows.resize(rows.size() - of_type.row_bytes);
  return is_found;
}

ScheduledRowCache::CachedColumn* ScheduledRowCache::FindColumn(NodeTypeId type, const std::string& column) {
  if (!has_begun_ || type.value >= types_.size()) return nullptr;
  for (CachedColumn& cached : types_[type.value].columns) {
    if (cached.description.name == column) return &cached;
  }
  return nullptr;
}

Result<Tensor> ScheduledRowCache::GatherRows(NodeTypeId type, const std::string& column,
                                             std::span<const GlobalNodeId> nodes, Deadline deadline) {
  const CachedColumn* const cached = FindColumn(type, column);
  if (cached == nullptr || nodes.data() != types_[type.value].nodes.data() ||
      nodes.size() != types_[type.value].nodes.size()) {
    return source_.GatherRows(type, column, nodes, deadline);
  }
  TypeCache& of_type = types_[type.value];
  const size_t row_bytes = cached->row_bytes;
  const std::shared_ptr<std::byte> out = buffers_.Take(nodes.size() * row_bytes);
  const std::vector<TypeCache::Hit>& hits = of_type.hits;
  for (size_t i = 0; i < hits.size(); ++i) {
    if (i + kPrefetchRows < hits.size()) __builtin_prefetch(hits[i + kPrefetchRows].row);
    std::memcpy(out.get() + hits[i].place * row_bytes, hits[i].row->bytes() + cached->offset, row_bytes);
  }
  for (size_t i = 0; i < of_type.shared_places.size(); ++i) {
    std::memcpy(out.get() + of_type.shared_places[i] * row_bytes,
                of_type.shared_rows.data() + i * of_type.row_bytes + cached->offset, row_bytes);
  }
  RETURN_IF_ERROR(source_.GatherRowsTo(type, column, of_type.missing_nodes, of_type.missing_places, out, deadline));
  for (const auto& [place, first_place] : of_type.repeats) {
    std::memcpy(out.get() + place * row_bytes, out.get() + first_place * row_bytes, row_bytes);
  }
  std::vector<int64_t> shape = {static_cast<int64_t>(nodes.size())};
  shape.insert(shape.end(), cached->description.row_shape.begin(), cached->description.row_shape.end());
  Tensor rows = Tensor::Wrap(cached->description.dtype, std::move(shape), out.get(), out);
  of_type.gathered[static_cast<size_t>(cached - of_type.columns.data())] = rows;
  return rows;
}

std::vector<uint32_t> ScheduledRowCache::NextSteps(uint16_t type, const std::vector<uint64_t>& ids) const {
  std::vector<uint32_t> next(ids.size(), kNoKnownStep);
  // The ids whose next step is not found yet, and where they are in `ids`.
  std::vector<uint64_t> left = ids;
  std::vector<uint32_t> places(ids.size());
  std::iota(places.begin(), places.end(), 0u);
  for (uint32_t distance = 1; distance < steps_.size() && !left.empty(); ++distance) {
    const uint32_t step = first_step_ + distance;
    steps_[distance][type].ids.Intersect(left, [&](size_t i) { next[places[i]] = step; });
    size_t num_left = 0;
    for (size_t i = 0; i < left.size(); ++i) {
      if (next[places[i]] == step) continue;
      left[num_left] = left[i];
      places[num_left++] = places[i];
    }
    left.resize(num_left);
    places.resize(num_left);
  }
  return next;
}

void ScheduledRowCache::CopyGathered(const TypeCache& of_type, uint32_t place, std::byte* row) {
  for (size_t c = 0; c < of_type.columns.size(); ++c) {
    const CachedColumn& column = of_type.columns[c];
    std::memcpy(row + column.offset, of_type.gathered[c].bytes() + place * column.row_bytes, column.row_bytes);
  }
}

void ScheduledRowCache::EndType(uint16_t type, std::vector<Fetched>* fetched) {
  TypeCache& of_type = types_[type];
  if (of_type.columns.empty()) return;
  const std::vector<uint64_t> ids = steps_.front()[type].ids.ToVector();
  const std::vector<uint32_t> next = NextSteps(type, ids);
  // Columns that were not gathered have no rows to store.
  const bool is_complete = std::all_of(of_type.gathered.begin(), of_type.gathered.end(), [&](const Tensor& rows) {
    return static_cast<size_t>(rows.num_rows()) == of_type.nodes.size();
  });
  std::vector<std::pair<uint64_t, uint32_t>> missing;  // remote nodes that are not cached, and their places
  std::vector<std::byte> published(of_type.row_bytes);
  for (size_t i = 0; i < of_type.missing_nodes.size(); ++i) {
    const GlobalNodeId node = of_type.missing_nodes[i];
    if (!IsRemote(of_type, node)) continue;
    missing.emplace_back(node.value, of_type.missing_places[i]);
    if (shared_ == nullptr || !is_complete) continue;
    CopyGathered(of_type, of_type.missing_places[i], published.data());
    shared_->Publish(NodeTypeId(type), node, published);
  }
  const size_t num_fetched = missing.size(), num_shared = of_type.shared_places.size();
  for (const uint32_t place : of_type.shared_places) missing.emplace_back(of_type.nodes[place].value, place);
  std::sort(missing.begin(), missing.end());
  size_t num_missing = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (num_missing < missing.size() && missing[num_missing].first == ids[i]) {
      if (is_complete) fetched->push_back({next[i], missing[num_missing].second, type});
      ++num_missing;
      continue;
    }
    CachedRow* const row = Find(of_type, ids[i]);
    order_.Remove(row);
    if (row->num_uses < std::numeric_limits<uint16_t>::max()) ++row->num_uses;
    row->next_step = next[i];
    order_.Add(row);
  }
  counts_.shared_rows += num_shared;
  counts_.shared_bytes += num_shared * of_type.row_bytes;
  counts_.fetched_rows += num_fetched;
  counts_.fetched_bytes += num_fetched * of_type.row_bytes;
  counts_.hit_rows += of_type.hits.size();
  counts_.hit_bytes += of_type.hits.size() * of_type.row_bytes;
}

void ScheduledRowCache::Store(const Fetched& fetched) {
  TypeCache& of_type = types_[fetched.type];
  const auto needed_bytes = [&] {
    const size_t growth = CapacityForOneMore(of_type.cached) - of_type.cached.capacity();
    return BytesOfRow(of_type) + growth * kBytesOfEntry;
  };
  while (held_bytes() + needed_bytes() > memory_bytes_) {
    CachedRow* const first = order_.First();
    if (first == nullptr || !EvictionOrder::IsEvictedLater(fetched.next_step, /*num_uses=*/1, *first)) return;
    Evict(first);
  }
  auto* const row = new (::operator new(sizeof(CachedRow) + of_type.row_bytes)) CachedRow;
  row->next_step = fetched.next_step;
  row->node = of_type.nodes[fetched.place];
  row->num_uses = 1;
  row->type = NodeTypeId(fetched.type);
  CopyGathered(of_type, fetched.place, row->bytes());
  order_.Add(row);
  const size_t capacity = CapacityForOneMore(of_type.cached);
  if (capacity != of_type.cached.capacity()) of_type.cached.reserve(MaxEntries(capacity));
  of_type.cached.insert(row);
  row_bytes_ += BytesOfRow(of_type);
  ++num_cached_rows_;
}

void ScheduledRowCache::EndStep() {
  ESPALIER_CHECK(has_begun_) << "the end of a step that has not begun";
  std::vector<Fetched> fetched;
  for (uint16_t type = 0; type < types_.size(); ++type) EndType(type, &fetched);
  std::stable_sort(fetched.begin(), fetched.end(),
                   [](const Fetched& a, const Fetched& b) { return a.next_step < b.next_step; });
  for (const Fetched& row : fetched) Store(row);
  ClearBegun();
  for (const StepRows& rows : steps_.front()) step_bytes_ -= rows.SizeInBytes();
  steps_.pop_front();
  ++first_step_;
}

void ScheduledRowCache::ClearBegun() {
  for (TypeCache& of_type : types_) {
    of_type.nodes = {};
    of_type.gathered.clear();
  }
  has_begun_ = false;
}

void ScheduledRowCache::AbandonSteps() {
  ClearBegun();
  first_step_ += static_cast<uint32_t>(steps_.size());
  steps_.clear();
  step_bytes_ = 0;
  // Rows are added in the order of eviction, which does not depend on hashes, so equal rows keep that order.
  std::vector<CachedRow*> rows;
  rows.reserve(num_cached_rows_);
  for (CachedRow* row = order_.First(); row != nullptr; row = order_.First()) {
    order_.Remove(row);
    rows.push_back(row);
  }
  for (CachedRow* const row : rows) {
    row->next_step = kNoKnownStep;
    order_.Add(row);
  }
}

void ScheduledRowCache::Evict(CachedRow* row) {
  order_.Remove(row);
  TypeCache& of_type = types_[row->type.value];
  of_type.cached.erase(of_type.cached.find(row->node.value));
  row_bytes_ -= BytesOfRow(of_type);
  --num_cached_rows_;
  row->~CachedRow();
  ::operator delete(row);
}

}  // namespace espalier::sampler
