#include "services/shard/time_columns.h"

#include <algorithm>

#include "services/base/parallel.h"
#include "services/shard/id_array.h"

namespace espalier::shard {
namespace {

constexpr int64_t kTimedRowsPerTask = 4096;

// Calls `use` with the times as a typed span; integer dtypes only.
template <class Use>
auto WithTimes(const Tensor& times, const Use& use) {
  switch (times.dtype()) {
    case DType::kI8: return use(times.values<int8_t>());
    case DType::kU16: return use(times.values<uint16_t>());
    case DType::kI16: return use(times.values<int16_t>());
    case DType::kU32: return use(times.values<uint32_t>());
    case DType::kI32: return use(times.values<int32_t>());
    case DType::kU64: return use(times.values<uint64_t>());
    case DType::kI64: return use(times.values<int64_t>());
    case DType::kU8:
    case DType::kBool:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF64: break;
  }
  return use(times.values<uint8_t>());  // kU8; HoldsTimes has refused the other dtypes without a return
}

bool HoldsTimes(const Tensor& times) {
  const bool is_integer = !IsFloating(times.dtype()) && times.dtype() != DType::kBool;
  return is_integer && times.num_elements() == times.num_rows();
}

}  // namespace

Result<const Tensor*> TimeColumns::Get(EdgeTypeId type, const std::string& column) {
  bool exists = false;
  for (const auto& columns : partition_.edge_columns) exists = exists || columns.contains(column);
  // Not cached: names come from clients, and the map must not grow with them.
  if (!exists) return NotFound("no edge type has the time column '" + column + "'");
  if (type.value >= partition_.edge_columns.size()) return nullptr;  // the last types may be left out without columns
  const auto found = partition_.edge_columns[type.value].find(column);
  if (found == partition_.edge_columns[type.value].end()) return nullptr;

  MutexLock lock(&mutex_);
  const std::pair<uint16_t, std::string> key(type.value, column);
  auto checked = checked_.find(key);
  if (checked == checked_.end()) {
    checked = checked_.emplace(key, Check(type, found->second).While("time column '" + column + "'")).first;
  }
  RETURN_IF_ERROR(checked->second);
  return &found->second;
}

Status TimeColumns::Check(EdgeTypeId type, const Tensor& times) const {
  if (!HoldsTimes(times)) return InvalidArgument("expected one integer for each edge, found " + times.ToString());
  const IdArray indptr(partition_.in_edges[type.value].indptr);
  const auto num_rows = static_cast<int64_t>(indptr.size()) - 1;
  // The first error of each range of kTimedRowsPerTask nodes, so that the message does not depend on thread timing.
  std::vector<Status> errors(static_cast<size_t>(num_rows / kTimedRowsPerTask + 1));
  WithTimes(times, [&](const auto values) {
    ParallelFor(AvailableProcessors(), num_rows, kTimedRowsPerTask, [&](int64_t begin, int64_t end) {
      for (auto row = static_cast<uint64_t>(begin); row < static_cast<uint64_t>(end); ++row) {
        Status& error = errors[row / kTimedRowsPerTask];
        for (uint64_t k = indptr[row] + 1; k < indptr[row + 1] && error.ok(); ++k) {
          if (values[k - 1] <= values[k]) continue;
          error = InvalidArgument("in-edges are not ordered by the column: " + std::to_string(values[k]) + " follows " +
                                  std::to_string(values[k - 1]) + " at position " + std::to_string(k) +
                                  "; partition the graph with this time column");
        }
      }
    });
    return 0;
  });
  for (const Status& error : errors) RETURN_IF_ERROR(error);
  return {};
}

uint32_t CountNotLater(const Tensor& times, uint64_t begin, uint32_t degree, int64_t time) {
  return WithTimes(times, [&](const auto values) {
    const auto row = values.subspan(begin, degree);
    const auto later = std::upper_bound(row.begin(), row.end(), time, [](int64_t bound, auto value) {
      if constexpr (std::is_same_v<decltype(value), uint64_t>) {
        return bound < 0 || static_cast<uint64_t>(bound) < value;
      } else {
        return bound < static_cast<int64_t>(value);
      }
    });
    return static_cast<uint32_t>(later - row.begin());
  });
}

}  // namespace espalier::shard
