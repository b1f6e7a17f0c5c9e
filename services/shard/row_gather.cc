#include "services/shard/row_gather.h"

#include <cstring>

namespace espalier::shard {
namespace {

// Rows and ids are prefetched this number of elements before they are needed.
constexpr size_t kPrefetchRows = 8;
constexpr size_t kPrefetchIds = 32;
constexpr size_t kCacheLine = 64;
// The hardware prefetcher fetches the rest of longer rows.
constexpr size_t kMaxPrefetchBytes = 1024;

void PrefetchRow(const std::byte* row, size_t row_bytes) {
  const size_t length = row_bytes < kMaxPrefetchBytes ? row_bytes : kMaxPrefetchBytes;
  for (size_t offset = 0; offset < length; offset += kCacheLine) __builtin_prefetch(row + offset);
  __builtin_prefetch(row + length - 1);  // unaligned rows may touch one more cache line
}

const char* ToWord(LocalNodeId) { return "node"; }
const char* ToWord(LocalRowId) { return "row"; }

template <class LocalId>
Status CheckIdsAndSink(uint64_t num_rows, size_t row_bytes, std::span<const LocalId> ids,
                       const sampler::RowSink& sink) {
  if (sink.row_bytes != row_bytes) {
    return InvalidArgument("rows have " + std::to_string(row_bytes) + " bytes, the request expects " +
                           std::to_string(sink.row_bytes));
  }
  if (sink.positions.size() != ids.size()) {
    return InvalidArgument(std::to_string(ids.size()) + " rows for " + std::to_string(sink.positions.size()) +
                           " positions");
  }
  for (const LocalId id : ids) {
    if (id.value >= num_rows) {
      return InvalidArgument(std::string(ToWord(id)) + " " + std::to_string(id.value) + " is not one of the " +
                             std::to_string(num_rows) + " that the partition owns");
    }
  }
  return {};
}

template <class LocalId>
Status GatherIds(const std::byte* rows, uint64_t num_rows, size_t row_bytes, std::span<const LocalId> ids,
                 const sampler::RowSink& sink) {
  RETURN_IF_ERROR(CheckIdsAndSink(num_rows, row_bytes, ids, sink));
  if (row_bytes == 0) return {};
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i + kPrefetchRows < ids.size()) PrefetchRow(rows + ids[i + kPrefetchRows].value * row_bytes, row_bytes);
    std::memcpy(sink.out + sink.positions[i] * row_bytes, rows + ids[i].value * row_bytes, row_bytes);
  }
  return {};
}

}  // namespace

Status CheckGather(uint64_t num_rows, size_t row_bytes, std::span<const LocalNodeId> nodes,
                   const sampler::RowSink& sink) {
  return CheckIdsAndSink(num_rows, row_bytes, nodes, sink);
}

Status GatherInto(const std::byte* rows, uint64_t num_rows, size_t row_bytes, std::span<const LocalNodeId> nodes,
                  const sampler::RowSink& sink) {
  return GatherIds(rows, num_rows, row_bytes, nodes, sink);
}

Status GatherInto(const std::byte* rows, uint64_t num_rows, size_t row_bytes, std::span<const LocalRowId> ids,
                  const sampler::RowSink& sink) {
  return GatherIds(rows, num_rows, row_bytes, ids, sink);
}

Status GatherWidened(std::span<const uint32_t> ids, std::span<const LocalNodeId> nodes, const sampler::RowSink& sink) {
  RETURN_IF_ERROR(CheckGather(ids.size(), sizeof(uint64_t), nodes, sink));
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i + kPrefetchIds < nodes.size()) __builtin_prefetch(ids.data() + nodes[i + kPrefetchIds].value);
    const uint64_t id = ids[nodes[i].value];
    std::memcpy(sink.out + sink.positions[i] * sizeof(id), &id, sizeof(id));
  }
  return {};
}

}  // namespace espalier::shard
