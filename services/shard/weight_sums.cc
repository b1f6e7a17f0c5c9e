#include "services/shard/weight_sums.h"

#include <cstddef>
#include <vector>

#include "services/base/mutex.h"
#include "services/base/parallel.h"
#include "services/base/random_access_memory.h"
#include "services/sampler/draws/weighted_draws.h"
#include "services/shard/id_array.h"

namespace espalier::shard {
namespace {

constexpr int64_t kRowsPerTask = 4096;

}  // namespace

Result<WeightSums::Sums> WeightSums::Get(EdgeTypeId type, const std::string& column) {
  if (partition_.in_edges[type.value].indices.num_elements() == 0) return Sums();
  MutexLock lock(&mutex_);
  const std::pair<uint16_t, std::string> key(type.value, column);
  const auto found = built_.find(key);
  if (found != built_.end()) return found->second;
  Result<Sums> sums = Build(type, column);
  // Unknown names are not cached: they come from clients, and the map must not grow with them.
  if (sums.ok() || sums.status().code() == StatusCode::kInvalidArgument) built_.emplace(key, sums);
  return sums;
}

Result<WeightSums::Sums> WeightSums::Build(EdgeTypeId type, const std::string& column) const {
  static const std::map<std::string, Tensor> kNone;
  const auto& columns = type.value < partition_.edge_columns.size() ? partition_.edge_columns[type.value] : kNone;
  const auto found = columns.find(column);
  if (found == columns.end()) {
    std::string existing;
    for (const auto& [name, tensor] : columns) existing += " '" + name + "'";
    return NotFound("edge type " + std::to_string(type.value) + " has no column '" + column + "' to weight by; it has" +
                    (existing.empty() ? " none" : existing));
  }
  const Tensor& weights = found->second;
  Status checked = sampler::CheckWeightColumn(weights);
  if (!checked.ok()) return std::move(checked).While("edge column '" + column + "'");

  const IdArray indptr(partition_.in_edges[type.value].indptr);
  const auto num_rows = static_cast<int64_t>(indptr.size()) - 1;
  const size_t size_bytes = static_cast<size_t>(weights.num_rows()) * sizeof(uint32_t);
  const std::shared_ptr<std::byte> memory = AllocateForRandomAccess(size_bytes);
  if (memory == nullptr) {
    return ResourceExhausted("edge column '" + column + "': out of memory: " + std::to_string(size_bytes) +
                             " bytes for sums of weights");
  }
  auto* const sums = reinterpret_cast<uint32_t*>(memory.get());
  // The first error of each range of in-edge lists (rows of indptr), so that the message does not depend on timing.
  std::vector<Status> errors(static_cast<size_t>(num_rows / kRowsPerTask + 1));
  ParallelFor(AvailableProcessors(), num_rows, kRowsPerTask, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const auto u = static_cast<uint64_t>(row);
      Status& error = errors[u / kRowsPerTask];
      if (error.ok()) error = sampler::QuantizeRow(weights, indptr[u], indptr[u + 1], sums);
    }
  });
  for (Status& error : errors) {
    if (!error.ok()) return std::move(error).While("edge column '" + column + "'");
  }
  return Sums(memory, sums);
}

}  // namespace espalier::shard
