// The memory has one word that identifies the graph and the columns, and a table for each node type. A table is a
// sequence of sets of kWays slots. The row of node n can be in any slot of set number (n modulo the number of sets). A
// set is kWays headers, which fill a cache line, and kWays rows. A header is a sequence number and a key (node + 1).
// Zeroed memory is an empty cache.
//
// Slots are sequence locks without waiting. A writer chooses a slot with an even sequence number, makes the number odd
// with a compare-and-swap, stores key and row, and makes the number even again. It gives up if the numbers of all slots
// of the set are odd or the chosen one has changed, because the row is only a copy. A reader copies the row between two
// loads of the number, and uses the copy if both are equal and even. The words of a row are stored with release order
// and loaded with acquire order (Boehm, "Can seqlocks get along with programming language memory models?", 2012): a
// reader that has loaded a word of a newer row sees that the number has changed. This needs no fences, which
// ThreadSanitizer does not support.
//
// A row replaces the one with the smallest sequence number of its set. Each write adds 2 to the number, so the slots of
// a set are replaced in turn.
#include "services/sampler/row_cache/shared_row_cache.h"

#include <algorithm>
#include <cstring>

#include "services/base/check.h"
#include "services/base/hash.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::sampler {
namespace {

constexpr size_t kWays = 4;
constexpr size_t kWordBytes = sizeof(uint64_t);
constexpr size_t kLineWords = 8;  // words of a cache line
constexpr size_t kHeaderWords = 2;
static_assert(kWays * kHeaderWords == kLineWords);
static_assert(std::atomic_ref<uint64_t>::is_always_lock_free);

size_t CountWords(size_t bytes) { return (bytes + kWordBytes - 1) / kWordBytes; }

// Returns a number that is equal for equal graphs, columns and layouts, and never 0.
uint64_t IdentifyRows(const std::string& graph_key, const graph::PartitionBook& book,
                      const std::vector<ColumnDescription>& columns, size_t memory_bytes) {
  std::string text = "rows 1\n" + graph_key + "\n" + std::to_string(memory_bytes) + "\n";
  for (const ColumnDescription& column : columns) {
    text += std::to_string(column.node_type.value) + " " + std::to_string(book.num_nodes(column.node_type)) + " " +
            std::to_string(static_cast<int>(column.dtype));
    for (const int64_t size : column.row_shape) text += " " + std::to_string(size);
    text += " " + column.name + "\n";
  }
  return std::max<uint64_t>(Hash64(text), 1);
}

}  // namespace

Result<std::unique_ptr<SharedRowCache>> SharedRowCache::Make(std::shared_ptr<SharedMemory> memory,
                                                             const std::string& graph_key,
                                                             const graph::PartitionBook& book,
                                                             const std::vector<ColumnDescription>& columns) {
  std::unique_ptr<SharedRowCache> cache(new SharedRowCache(std::move(memory)));
  const std::span<std::byte> bytes = cache->memory_->bytes();
  cache->tables_.resize(book.schema().num_node_types());
  if (bytes.size() < kWordBytes) return cache;
  const uint64_t identity = IdentifyRows(graph_key, book, columns, bytes.size());
  const std::atomic_ref<Word> found(*reinterpret_cast<Word*>(bytes.data()));
  Word expected = 0;
  if (!found.compare_exchange_strong(expected, identity) && expected != identity) {
    return FailedPrecondition("the shared memory for feature rows has rows of another graph or of other columns (key " +
                              ToHex(expected) + ", expected " + ToHex(identity) +
                              "): use one shared memory for each run");
  }
  cache->LayOutTables(book, columns);
  return cache;
}

// Divides the memory between the node types in proportion to the total size of their rows. If the memory is large
// enough, each type gets a slot for each of its nodes.
void SharedRowCache::LayOutTables(const graph::PartitionBook& book, const std::vector<ColumnDescription>& columns) {
  for (const ColumnDescription& column : columns)
    tables_[column.node_type.value].row_bytes += RowBytes(column.dtype, column.row_shape);
  std::vector<uint64_t> wanted_sets(tables_.size());
  double wanted_words = 0;
  for (uint16_t type = 0; type < tables_.size(); ++type) {
    Table& table = tables_[type];
    if (table.row_bytes == 0) continue;
    const size_t words = kLineWords + kWays * CountWords(table.row_bytes);
    table.words_of_set = (words + kLineWords - 1) / kLineWords * kLineWords;
    wanted_sets[type] = (book.num_nodes(NodeTypeId(type)) + kWays - 1) / kWays;
    wanted_words += static_cast<double>(wanted_sets[type]) * static_cast<double>(table.words_of_set);
  }
  const std::span<std::byte> bytes = memory_->bytes();
  auto* const words = reinterpret_cast<Word*>(bytes.data());
  const size_t num_words = bytes.size() / kWordBytes;
  size_t next = kLineWords;  // the identity has a cache line for itself
  if (num_words <= next || wanted_words == 0) return;
  const double share = std::min(1.0, static_cast<double>(num_words - next) / wanted_words);
  for (uint16_t type = 0; type < tables_.size(); ++type) {
    Table& table = tables_[type];
    if (table.row_bytes == 0) continue;
    table.first = words + next;
    table.num_sets = std::min(static_cast<uint64_t>(share * static_cast<double>(wanted_sets[type])),
                              uint64_t{(num_words - next) / table.words_of_set});
    next += table.num_sets * table.words_of_set;
  }
}

const SharedRowCache::Table& SharedRowCache::FindTable(NodeTypeId type, size_t row_bytes) const {
  const Table& table = tables_[type.value];
  ESPALIER_CHECK(table.num_sets == 0 || table.row_bytes == row_bytes)
      << "a row of " << row_bytes << " bytes, expected " << table.row_bytes;
  return table;
}

SharedRowCache::Slot SharedRowCache::SlotAt(const Table& table, uint64_t node, size_t way) {
  Word* const set = table.first + node % table.num_sets * table.words_of_set;
  Word* const header = set + way * kHeaderWords;
  Word* const row = set + kLineWords + way * CountWords(table.row_bytes);
  return {std::atomic_ref<Word>(header[0]), std::atomic_ref<Word>(header[1]), row};
}

bool SharedRowCache::Find(NodeTypeId type, GlobalNodeId node, std::span<std::byte> row) const {
  const Table& table = FindTable(type, row.size());
  if (table.num_sets == 0) return false;
  for (size_t way = 0; way < kWays; ++way) {
    const Slot slot = SlotAt(table, node.value, way);
    const Word before = slot.sequence.load(std::memory_order_acquire);
    if (before % 2 != 0 || slot.key.load(std::memory_order_acquire) != node.value + 1) continue;
    for (size_t begin = 0, i = 0; begin < row.size(); begin += kWordBytes, ++i) {
      const Word word = std::atomic_ref<Word>(slot.row[i]).load(std::memory_order_acquire);
      std::memcpy(row.data() + begin, &word, std::min(kWordBytes, row.size() - begin));
    }
    return slot.sequence.load(std::memory_order_relaxed) == before;
  }
  return false;
}

void SharedRowCache::Publish(NodeTypeId type, GlobalNodeId node, std::span<const std::byte> row) {
  const Table& table = FindTable(type, row.size());
  if (table.num_sets == 0) return;
  size_t oldest = kWays;  // none
  Word sequence = 0;
  for (size_t way = 0; way < kWays; ++way) {
    const Slot slot = SlotAt(table, node.value, way);
    const Word found = slot.sequence.load(std::memory_order_acquire);
    if (found % 2 != 0) continue;
    if (slot.key.load(std::memory_order_acquire) == node.value + 1) return;
    if (oldest < kWays && found >= sequence) continue;
    oldest = way;
    sequence = found;
  }
  if (oldest == kWays) return;
  const Slot slot = SlotAt(table, node.value, oldest);
  if (!slot.sequence.compare_exchange_strong(sequence, sequence + 1)) return;
  slot.key.store(node.value + 1, std::memory_order_release);
  for (size_t begin = 0, i = 0; begin < row.size(); begin += kWordBytes, ++i) {
    Word word = 0;
    std::memcpy(&word, row.data() + begin, std::min(kWordBytes, row.size() - begin));
    std::atomic_ref<Word>(slot.row[i]).store(word, std::memory_order_release);
  }
  slot.sequence.store(sequence + 2, std::memory_order_release);
}

}  // namespace espalier::sampler
