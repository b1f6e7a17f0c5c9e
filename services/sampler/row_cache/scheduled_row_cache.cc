// Each known step has a list of the distinct remote rows that it reads, and for each the distance to the next known
// step that reads it. A map has, for each row that is cached or read by a known step, its memory and its place in the
// list of the last such step, so that Schedule sets that distance when a later step reads the row as well.
//
// EndStep orders the rows it has fetched by their distance and stores them one after the other, each in place of rows
// that are read later. With rows of one size the cache then holds, of all rows that it had or fetched, those that are
// read soonest, which is the optimum for the known steps. Rows that no known step reads fill the rest, the most used
// first: how often a row was read estimates how soon it is read again. With rows of several sizes the rule is the same
// and no longer optimal.
//
// A row that the step reads and that makes room for another is freed only in EndStep, after all columns were copied.
#include "services/sampler/row_cache/scheduled_row_cache.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "services/base/check.h"
#include "services/sampler/access/owner_route.h"

namespace espalier::sampler {
namespace {

constexpr size_t kIdleBufferBytes = size_t{1} << 30;
constexpr size_t kAllocatorBytes = 16;  // an allocation's overhead
constexpr size_t kPrefetchRows = 8;

size_t BytesOfColumnRow(const ColumnDescription& column) {
  size_t bytes = ItemSize(column.dtype);
  for (const int64_t size : column.row_shape) bytes *= static_cast<size_t>(size);
  return bytes;
}

// Returns how many entries a map of this capacity has before GrowBySize grows it.
size_t MostEntries(size_t capacity) { return (capacity + 1) / 32 * 25; }

// Makes room for one more entry. A map by itself grows at this size or later, depending on the traces of erased
// entries, and thus on the hash, which differs from process to process: the counts of a cache could not be repeated.
template <class Map>
void GrowBySize(Map& map) {
  constexpr size_t kLeastEntries = 27;  // makes the capacity 31; smaller maps grow by other rules
  if (map.size() >= MostEntries(map.capacity())) map.reserve(std::max(kLeastEntries, map.capacity()));
}

template <class T>
size_t CapacityBytes(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}

}  // namespace

bool HasRemoteRows(const RowSource& source, const graph::PartitionBook& book) {
  for (uint32_t p = 0; p < book.num_partitions(); ++p) {
    if (source.is_remote(PartitionId(p))) return true;
  }
  return false;
}

size_t ScheduledRowCache::StepRows::SizeInBytes() const {
  return CapacityBytes(places) + CapacityBytes(distances) + CapacityBytes(repeats) + sizeof(StepRows);
}

ScheduledRowCache::ScheduledRowCache(RowSource& source, const graph::PartitionBook& book,
                                     const std::vector<ColumnDescription>& columns, uint64_t memory_bytes)
    : source_(source), memory_bytes_(memory_bytes), types_(book.schema().num_node_types()), buffers_(kIdleBufferBytes) {
  for (uint32_t p = 0; p < book.num_partitions(); ++p) is_remote_.push_back(source.is_remote(PartitionId(p)));
  for (uint16_t type = 0; type < types_.size(); ++type) types_[type].first = book.NodeFirst(NodeTypeId(type));
  for (const ColumnDescription& column : columns) {
    OfType& of_type = types_[column.node_type.value];
    const size_t row_bytes = BytesOfColumnRow(column);
    of_type.columns.push_back({column, row_bytes, of_type.row_bytes});
    of_type.row_bytes += row_bytes;
  }
}

ScheduledRowCache::~ScheduledRowCache() {
  for (CachedRow* row = order_.First(); row != nullptr; row = order_.First()) Evict(row);
}

bool ScheduledRowCache::IsRemote(const OfType& of_type, GlobalNodeId node) const {
  return is_remote_[FindRange(of_type.first, node.value)];
}

uint64_t ScheduledRowCache::IndexBytes() const {
  uint64_t bytes = step_bytes_;
  for (const OfType& of_type : types_) {
    bytes += of_type.states.capacity() * kBytesOfState;
  }
  return bytes;
}

uint64_t ScheduledRowCache::BytesOfRow(const OfType& of_type) const {
  return sizeof(CachedRow) + of_type.row_bytes + kAllocatorBytes;
}

bool ScheduledRowCache::HasRoomForStep() const {
  if (steps_.empty()) return true;
  if (steps_.size() >= kMostSteps) return false;
  // A step like the last one may let a map grow, which doubles it.
  uint64_t bytes = step_bytes_;
  for (uint16_t type = 0; type < types_.size(); ++type) {
    const auto& states = types_[type].states;
    const StepRows& last = steps_.back()[type];
    const bool may_grow = states.size() + last.places.size() > MostEntries(states.capacity());
    bytes += (may_grow ? 2u : 1u) * states.capacity() * kBytesOfState + last.SizeInBytes();
  }
  return bytes <= memory_bytes_ / 3;
}

void ScheduledRowCache::Link(uint16_t type, RowState& state, uint64_t step) {
  if (state.is_scheduled) {
    const auto distance = static_cast<uint16_t>(static_cast<uint16_t>(step) - state.last_step);
    steps_[step - first_step_ - distance][type].distances[state.last_index] = distance;
  } else if (state.row != nullptr) {
    order_.Remove(state.row);
    state.row->next_step = step;
    order_.Add(state.row);
  }
}

void ScheduledRowCache::Schedule(const std::vector<std::vector<GlobalNodeId>>& nodes) {
  ESPALIER_CHECK(!has_begun_ && nodes.size() == types_.size() && steps_.size() < kMostSteps)
      << "a step of " << nodes.size() << " node types after " << steps_.size() << " known steps";
  const uint64_t step = first_step_ + steps_.size();
  std::vector<StepRows>& of_step = steps_.emplace_back(types_.size());
  for (uint16_t type = 0; type < types_.size(); ++type) {
    OfType& of_type = types_[type];
    StepRows& rows = of_step[type];
    rows.num_nodes = nodes[type].size();
    if (of_type.columns.empty()) continue;
    for (uint32_t place = 0; place < nodes[type].size(); ++place) {
      const GlobalNodeId node = nodes[type][place];
      if (!IsRemote(of_type, node)) continue;
      GrowBySize(of_type.states);
      RowState& state = of_type.states[node.value];
      if (state.is_scheduled && state.last_step == static_cast<uint16_t>(step)) {
        rows.repeats.push_back({place, rows.places[state.last_index]});
        continue;
      }
      Link(type, state, step);
      state.last_step = static_cast<uint16_t>(step);
      state.last_index = static_cast<uint32_t>(rows.places.size());
      state.is_scheduled = true;
      rows.places.push_back(place);
    }
    rows.places.shrink_to_fit();
    rows.distances.resize(rows.places.size(), 0);
    rows.repeats.shrink_to_fit();
  }
  for (const StepRows& rows : of_step) step_bytes_ += rows.SizeInBytes();
  while (held_bytes() > memory_bytes_ && order_.First() != nullptr) Evict(order_.First());
}

void ScheduledRowCache::BeginStep(const std::vector<std::vector<GlobalNodeId>>& nodes) {
  ESPALIER_CHECK(!steps_.empty() && nodes.size() == types_.size()) << "a step that was not scheduled";
  has_begun_ = true;
  for (uint16_t type = 0; type < types_.size(); ++type) {
    OfType& of_type = types_[type];
    const StepRows& rows = steps_.front()[type];
    ESPALIER_CHECK(nodes[type].size() == rows.num_nodes)
        << "a step of " << nodes[type].size() << " nodes, which was scheduled with " << rows.num_nodes;
    of_type.nodes = nodes[type];
    of_type.rows.clear();
    of_type.asked.clear();
    of_type.places_of_asked.clear();
    of_type.gathered.assign(of_type.columns.size(), Tensor());
    if (of_type.columns.empty()) continue;
    size_t num_repeats = 0;
    for (uint32_t place = 0; place < of_type.nodes.size(); ++place) {
      const GlobalNodeId node = of_type.nodes[place];
      const size_t index = of_type.rows.size();
      if (index < rows.places.size() && rows.places[index] == place) {
        CachedRow* const row = of_type.states.find(node.value)->second.row;
        of_type.rows.push_back(row);
        if (row != nullptr) continue;
      } else if (num_repeats < rows.repeats.size() && rows.repeats[num_repeats].place == place) {
        ++num_repeats;
        continue;
      }
      of_type.asked.push_back(node);
      of_type.places_of_asked.push_back(place);
    }
  }
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
  OfType& of_type = types_[type.value];
  const StepRows& step = steps_.front()[type.value];
  const size_t row_bytes = cached->row_bytes;
  const std::shared_ptr<std::byte> out = buffers_.Take(nodes.size() * row_bytes);
  for (size_t i = 0; i < of_type.rows.size(); ++i) {
    if (i + kPrefetchRows < of_type.rows.size()) __builtin_prefetch(of_type.rows[i + kPrefetchRows]);
    if (of_type.rows[i] == nullptr) continue;
    std::memcpy(out.get() + step.places[i] * row_bytes, of_type.rows[i]->bytes() + cached->offset, row_bytes);
  }
  RETURN_IF_ERROR(source_.GatherRowsTo(type, column, of_type.asked, of_type.places_of_asked, out, deadline));
  for (const auto& [place, first_place] : step.repeats) {
    std::memcpy(out.get() + place * row_bytes, out.get() + first_place * row_bytes, row_bytes);
  }
  std::vector<int64_t> shape = {static_cast<int64_t>(nodes.size())};
  shape.insert(shape.end(), cached->description.row_shape.begin(), cached->description.row_shape.end());
  Tensor rows = Tensor::Wrap(cached->description.dtype, std::move(shape), out.get(), out);
  of_type.gathered[static_cast<size_t>(cached - of_type.columns.data())] = rows;
  return rows;
}

void ScheduledRowCache::UpdateHits(uint16_t type) {
  OfType& of_type = types_[type];
  const StepRows& step = steps_.front()[type];
  for (size_t i = 0; i < of_type.rows.size(); ++i) {
    CachedRow* const row = of_type.rows[i];
    if (row == nullptr) {
      ++counts_.fetched_rows;
      counts_.fetched_bytes += of_type.row_bytes;
      continue;
    }
    ++counts_.hit_rows;
    counts_.hit_bytes += of_type.row_bytes;
    order_.Remove(row);
    ++row->num_uses;
    row->next_step = step.distances[i] == 0 ? kNoKnownStep : first_step_ + step.distances[i];
    order_.Add(row);
  }
}

void ScheduledRowCache::Store(uint16_t type, uint32_t index, uint64_t next_step) {
  OfType& of_type = types_[type];
  const uint64_t bytes = BytesOfRow(of_type);
  while (held_bytes() + bytes > memory_bytes_) {
    CachedRow* const first = order_.First();
    if (first == nullptr || !EvictionOrder::IsKeptLonger(next_step, /*num_uses=*/1, *first)) return;
    Evict(first);
  }
  auto* const row = new (::operator new(sizeof(CachedRow) + of_type.row_bytes)) CachedRow;
  const uint32_t place = steps_.front()[type].places[index];
  row->next_step = next_step;
  row->node = of_type.nodes[place];
  row->num_uses = 1;
  row->type = NodeTypeId(type);
  for (size_t c = 0; c < of_type.columns.size(); ++c) {
    const CachedColumn& column = of_type.columns[c];
    std::memcpy(row->bytes() + column.offset, of_type.gathered[c].bytes() + place * column.row_bytes, column.row_bytes);
  }
  order_.Add(row);
  of_type.states.find(row->node.value)->second.row = row;
  row_bytes_ += bytes;
  ++num_cached_rows_;
}

void ScheduledRowCache::StoreFetched() {
  struct Fetched {
    uint64_t next_step;
    uint32_t index;
    uint16_t type;
  };
  std::vector<Fetched> fetched;
  for (uint16_t type = 0; type < types_.size(); ++type) {
    const OfType& of_type = types_[type];
    // Columns that were not gathered have no rows to store.
    const bool is_complete = std::all_of(of_type.gathered.begin(), of_type.gathered.end(), [&](const Tensor& rows) {
      return static_cast<size_t>(rows.num_rows()) == of_type.nodes.size();
    });
    if (!is_complete) continue;
    const std::vector<uint16_t>& distances = steps_.front()[type].distances;
    for (uint32_t i = 0; i < of_type.rows.size(); ++i) {
      if (of_type.rows[i] != nullptr) continue;
      fetched.push_back({distances[i] == 0 ? kNoKnownStep : first_step_ + distances[i], i, type});
    }
  }
  std::stable_sort(fetched.begin(), fetched.end(),
                   [](const Fetched& a, const Fetched& b) { return a.next_step < b.next_step; });
  for (const Fetched& row : fetched) Store(row.type, row.index, row.next_step);
}

void ScheduledRowCache::Unschedule(uint16_t type) {
  OfType& of_type = types_[type];
  const StepRows& step = steps_.front()[type];
  for (size_t i = 0; i < step.places.size(); ++i) {
    if (step.distances[i] != 0) continue;  // a later step has the row
    const auto found = of_type.states.find(of_type.nodes[step.places[i]].value);
    found->second.is_scheduled = false;
    if (found->second.row == nullptr) of_type.states.erase(found);
  }
}

void ScheduledRowCache::EndStep() {
  ESPALIER_CHECK(has_begun_) << "the end of a step that has not begun";
  for (uint16_t type = 0; type < types_.size(); ++type) UpdateHits(type);
  StoreFetched();
  for (uint16_t type = 0; type < types_.size(); ++type) {
    Unschedule(type);
    types_[type].nodes = {};
    types_[type].gathered.clear();
  }
  for (const StepRows& rows : steps_.front()) step_bytes_ -= rows.SizeInBytes();
  steps_.pop_front();
  ++first_step_;
  has_begun_ = false;
}

void ScheduledRowCache::Evict(CachedRow* row) {
  order_.Remove(row);
  OfType& of_type = types_[row->type.value];
  const auto found = of_type.states.find(row->node.value);
  found->second.row = nullptr;
  if (!found->second.is_scheduled) of_type.states.erase(found);
  row_bytes_ -= BytesOfRow(of_type);
  --num_cached_rows_;
  row->~CachedRow();
  ::operator delete(row);
}

}  // namespace espalier::sampler
