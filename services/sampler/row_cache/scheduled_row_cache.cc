// EndStep sorts the fetched rows by the next step that reads them, and stores them one after another. If there is no
// free memory for a row, it evicts cached rows that are read later than this row; if there are none, it does not store
// the row. If all rows have one size, the cache then keeps the rows that are read soonest among all cached and fetched
// rows. This is optimal for the known steps. The remaining memory keeps the most used of the rows that no known step
// reads: how often a row was read estimates how soon it is read again. With rows of several sizes the rule is the same
// but no longer optimal.
//
// A cached row that the step reads may be replaced only in EndStep, after all columns were copied.
//
// BeginStep copies rows from the shared cache, because another process may replace them at any time. EndStep treats
// them like fetched rows, so the cached rows do not depend on the shared cache.
#include "services/sampler/row_cache/scheduled_row_cache.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "absl/container/flat_hash_map.h"
#include "services/base/check.h"
#include "services/sampler/access/owner_route.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::sampler {
namespace {

constexpr size_t kIdleBufferBytes = size_t{1} << 30;  // limit of buffers_
constexpr size_t kAllocatorBytes = 16;                // an allocation's overhead
constexpr size_t kPrefetchRows = 8;                   // how many rows ahead GatherRows prefetches

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
    : source_(source), memory_bytes_(memory_bytes), shared_(std::move(shared)), buffers_(kIdleBufferBytes) {
  for (uint32_t p = 0; p < book.num_partitions(); ++p) is_remote_.push_back(source.is_remote(PartitionId(p)));
  for (uint16_t type = 0; type < book.schema().num_node_types(); ++type) {
    types_.emplace_back(order_).first = book.NodeFirst(NodeTypeId(type));
  }
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

uint64_t ScheduledRowCache::IndexBytes() const {
  uint64_t bytes = 0;
  for (const TypeCache& of_type : types_) bytes += of_type.rows.IndexBytes();
  return bytes;
}

uint64_t ScheduledRowCache::num_cached_rows() const {
  uint64_t num_rows = 0;
  for (const TypeCache& of_type : types_) num_rows += of_type.rows.size();
  return num_rows;
}

uint64_t ScheduledRowCache::BytesOfRow(const TypeCache& of_type) const {
  return sizeof(CachedRow) + of_type.row_bytes + kAllocatorBytes;
}

bool ScheduledRowCache::HasRoomForStep() const {
  const size_t num_steps = types_.front().rows.num_steps();
  if (num_steps == 0) return true;
  if (num_steps >= ScheduledRows::kMaxSteps) return false;
  uint64_t bytes = IndexBytes();
  for (const TypeCache& of_type : types_) {
    bytes += of_type.rows.last_step().SizeInBytes();  // assumes that the next step is as large
  }
  return bytes <= memory_bytes_ / 3;
}

void ScheduledRowCache::Schedule(const std::vector<std::vector<GlobalNodeId>>& nodes) {
  ESPALIER_CHECK(!has_begun_ && nodes.size() == types_.size())
      << "Schedule was called between BeginStep and EndStep, or with " << nodes.size() << " node types instead of "
      << types_.size();
  for (uint16_t type = 0; type < types_.size(); ++type) {
    TypeCache& of_type = types_[type];
    std::vector<uint64_t> ids;
    if (!of_type.columns.empty()) {
      ids.reserve(nodes[type].size());
      for (const GlobalNodeId node : nodes[type]) {
        if (IsRemote(of_type, node)) ids.push_back(node.value);
      }
    }
    of_type.rows.Schedule(std::move(ids));
  }
  while (held_bytes() > memory_bytes_ && order_.First() != nullptr) Evict(order_.First());
}

void ScheduledRowCache::BeginStep(const std::vector<std::vector<GlobalNodeId>>& nodes, bool reads_all) {
  ESPALIER_CHECK(nodes.size() == types_.size() && types_.front().rows.num_steps() > 0)
      << "a step that was not scheduled";
  has_begun_ = true;
  for (uint16_t type = 0; type < types_.size(); ++type) {
    TypeCache& of_type = types_[type];
    const ScheduledRows::Step& step = of_type.rows.first_step();
    of_type.nodes = nodes[type];
    of_type.hits.clear();
    of_type.shared_places.clear();
    of_type.shared_rows.clear();
    of_type.missing_nodes.clear();
    of_type.missing_places.clear();
    of_type.repeats.clear();
    of_type.gathered.assign(of_type.columns.size(), Tensor());
    if (of_type.columns.empty()) continue;
    const bool has_repeats = step.num_listed > step.ids.size();
    size_t num_remote = 0;
    absl::flat_hash_map<uint64_t, uint32_t> first_places;
    for (uint32_t place = 0; place < of_type.nodes.size(); ++place) {
      const GlobalNodeId node = of_type.nodes[place];
      if (IsRemote(of_type, node)) {
        ++num_remote;
        if (has_repeats) {
          const auto [first, is_first] = first_places.try_emplace(node.value, place);
          if (!is_first) {
            of_type.repeats.push_back({place, first->second});
            continue;
          }
        }
        if (CachedRow* const row = of_type.rows.Find(node.value); row != nullptr) {
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
    ESPALIER_CHECK(reads_all ? num_remote == step.num_listed : num_remote <= step.num_listed)
        << "a step of " << num_remote << " remote nodes, which was scheduled with " << step.num_listed;
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
  RETURN_IF_ERROR(
      source_.GatherRowsToPlaces(type, column, of_type.missing_nodes, of_type.missing_places, out, deadline));
  for (const auto& [place, first_place] : of_type.repeats) {
    std::memcpy(out.get() + place * row_bytes, out.get() + first_place * row_bytes, row_bytes);
  }
  std::vector<int64_t> shape = {static_cast<int64_t>(nodes.size())};
  shape.insert(shape.end(), cached->description.row_shape.begin(), cached->description.row_shape.end());
  Tensor rows = Tensor::Wrap(cached->description.dtype, std::move(shape), out.get(), out);
  of_type.gathered[static_cast<size_t>(cached - of_type.columns.data())] = rows;
  return rows;
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
  const std::vector<uint64_t> ids = of_type.rows.first_step().ids.ToVector();
  const std::vector<uint32_t> next = of_type.rows.NextSteps(ids);
  // Rows are stored only with the values of all columns.
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
    CachedRow* const row = of_type.rows.Find(ids[i]);
    // null: BeginStep got a list without the node, because the caller had its row.
    if (row != nullptr) of_type.rows.RecordUse(row, next[i]);
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
  while (held_bytes() + BytesOfRow(of_type) + of_type.rows.BytesOfNextEntry() > memory_bytes_) {
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
  of_type.rows.Add(row);
  row_bytes_ += BytesOfRow(of_type);
}

void ScheduledRowCache::EndStep() {
  ESPALIER_CHECK(has_begun_) << "the end of a step that has not begun";
  std::vector<Fetched> fetched;
  for (uint16_t type = 0; type < types_.size(); ++type) EndType(type, &fetched);
  std::stable_sort(fetched.begin(), fetched.end(),
                   [](const Fetched& a, const Fetched& b) { return a.next_step < b.next_step; });
  for (const Fetched& row : fetched) Store(row);
  ClearBegun();
  for (TypeCache& of_type : types_) of_type.rows.RemoveFirstStep();
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
  for (TypeCache& of_type : types_) of_type.rows.RemoveSteps();
  order_.ForgetSteps();
}

void ScheduledRowCache::Evict(CachedRow* row) {
  TypeCache& of_type = types_[row->type.value];
  of_type.rows.Remove(row);
  row_bytes_ -= BytesOfRow(of_type);
  row->~CachedRow();
  ::operator delete(row);
}

}  // namespace espalier::sampler
