// First values of a tensor's rows on their owner, by an initialiser of a plugin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "services/sampler/access/row_initializers.h"

namespace espalier::shard {

// About so many bytes of rows are asked for at once, one row at least: an initialiser sees few ids at a time, and its
// deadline is looked at in between.
inline constexpr size_t kPluginBlockBytes = size_t{1} << 20;
inline constexpr uint64_t kMostPluginBlockRows = uint64_t{1} << 16;

// Everything outlives the call. The spec has been checked.
struct PluginFill {
  const sampler::RowInitializers& initializers;
  const sampler::TensorSpec& spec;
  const graph::PartitionBook& book;
  const graph::Partition& partition;
  const std::function<uint64_t(uint64_t row)>& original_id;  // of a local row
};

// Fills [num_rows, row elements], which is all zeros. After an error some of it has been filled.
Status FillByPlugin(const PluginFill& fill, uint64_t num_rows, Deadline deadline, std::byte* rows);

}  // namespace espalier::shard
