// Moves rows between their owners and their places in a request: the common part of reading columns and of reading and
// writing tensors of a partitioned graph. The ids of a request are ids of nodes or of rows of a tensor.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "services/base/tensor.h"
#include "services/sampler/access/owner_route.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::sampler {

// The memory that a gather's requests refer to; lives until the last response.
template <class LocalId>
struct GatherPlan {
  std::vector<std::vector<LocalId>> locals;      // [partitions] rows to request
  std::vector<std::vector<uint32_t>> positions;  // [partitions] for each row to request, its index in `rows`
  struct Repeat {
    uint32_t from, to;
  };
  std::vector<Repeat> repeats;      // rows of `rows` to copy after all responses have arrived
  std::shared_ptr<std::byte> rows;  // the gathered rows

  // Changes the plan so that the row of the i-th id goes to row places[i]; in a new plan it goes to row i.
  void RedirectTo(std::span<const uint32_t> places) {
    for (std::vector<uint32_t>& of_partition : positions) {
      for (uint32_t& position : of_partition) position = places[position];
    }
    for (Repeat& repeat : repeats) repeat = {places[repeat.from], places[repeat.to]};
  }

  // Copies the rows of repeated ids. Call it after all responses have arrived.
  void CopyRepeats(size_t row_bytes) const {
    for (const auto& [from, to] : repeats) {
      std::memcpy(rows.get() + to * row_bytes, rows.get() + from * row_bytes, row_bytes);
    }
  }
};

// Adds the rows of partition p to the plan, each row once. Further occurrences of a row become repeats.
template <class LocalId>
void RequestOnce(std::vector<LocalId> locals, std::vector<uint32_t> positions, uint32_t p, GatherPlan<LocalId>& plan) {
  absl::flat_hash_map<uint32_t, uint32_t> first_position;
  first_position.reserve(locals.size());
  for (size_t i = 0; i < locals.size(); ++i) {
    const auto [found, is_new] = first_position.try_emplace(locals[i].value, positions[i]);
    if (is_new) {
      plan.locals[p].push_back(locals[i]);
      plan.positions[p].push_back(positions[i]);
    } else {
      plan.repeats.push_back({found->second, positions[i]});
    }
  }
}

// Returns the plan of a gather of `num_ids` ids, without `rows`, which the caller sets. If may_repeat[p], repeated rows
// of partition p are requested as often as they occur, because that costs less than finding the repetitions.
template <class LocalId>
std::shared_ptr<GatherPlan<LocalId>> PlanGather(OwnerRouteOf<LocalId> route, size_t num_ids,
                                                const std::vector<bool>& may_repeat) {
  const auto plan = std::make_shared<GatherPlan<LocalId>>();
  const size_t num_partitions = route.locals.size();
  std::vector<std::vector<uint32_t>> positions(num_partitions);
  if (route.owner.empty()) {
    positions[0].resize(num_ids);
    std::iota(positions[0].begin(), positions[0].end(), 0u);
  } else {
    for (size_t p = 0; p < num_partitions; ++p) positions[p].reserve(route.locals[p].size());
    for (uint32_t i = 0; i < num_ids; ++i) positions[route.owner[i]].push_back(i);
  }
  plan->locals.resize(num_partitions);
  plan->positions.resize(num_partitions);
  for (uint32_t p = 0; p < num_partitions; ++p) {
    if (may_repeat[p]) {
      plan->locals[p] = std::move(route.locals[p]);
      plan->positions[p] = std::move(positions[p]);
    } else {
      RequestOnce(std::move(route.locals[p]), std::move(positions[p]), p, *plan);
    }
  }
  return plan;
}

// Returns the partitions that get a request: those whose list in `locals` is not empty.
template <class LocalId>
std::vector<PartitionId> FindRequestedPartitions(const std::vector<std::vector<LocalId>>& locals) {
  std::vector<PartitionId> requested;
  for (uint32_t p = 0; p < locals.size(); ++p) {
    if (!locals[p].empty()) requested.push_back(PartitionId(p));
  }
  return requested;
}

// Returns [partitions]: the rows that each partition owns, in the order of its local ids in the route. If the route has
// no owners, because there is one partition or because there are no rows, returns `rows` alone.
template <class LocalId>
std::vector<Tensor> SplitRows(const Tensor& rows, const OwnerRouteOf<LocalId>& route) {
  if (route.owner.empty()) return {rows};
  std::vector<Tensor> parts;
  std::vector<std::byte*> next;
  for (const auto& locals : route.locals) {
    std::vector<int64_t> shape = rows.shape();
    shape[0] = static_cast<int64_t>(locals.size());
    parts.push_back(Tensor::Uninitialized(rows.dtype(), std::move(shape)));
    next.push_back(parts.back().mutable_bytes());
  }
  const size_t row_bytes = rows.row_bytes();
  for (size_t i = 0; i < route.owner.size(); ++i) {
    std::memcpy(next[route.owner[i]], rows.bytes() + i * row_bytes, row_bytes);
    next[route.owner[i]] += row_bytes;
  }
  return parts;
}

// Returns [num_rows, row_shape...].
inline std::vector<int64_t> MakeRowsShape(size_t num_rows, const std::vector<int64_t>& row_shape) {
  std::vector<int64_t> shape = {static_cast<int64_t>(num_rows)};
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  return shape;
}

}  // namespace espalier::sampler
