// Initial values of a tensor's rows on their owner, computed by an initializer of a plugin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "services/sampler/access/row_initializers.h"

namespace espalier::shard {

// The initializer is called for blocks of rows within both limits (one row may exceed kPluginBlockBytes), so that each
// call gets few ids and the deadline is checked between calls.
inline constexpr size_t kPluginBlockBytes = size_t{1} << 20;
inline constexpr uint64_t kMaxPluginBlockRows = uint64_t{1} << 16;

// Arguments of FillByPlugin; all of them outlive the call. The spec has been checked.
struct PluginFill {
  const sampler::RowInitializers& initializers;
  const sampler::TensorSpec& spec;
  const graph::PartitionBook& book;
  const graph::Partition& partition;
  const std::function<uint64_t(uint64_t row)>& original_id;  // returns the original id of a local row
};

// Fills `rows`, [num_rows, row elements] of the spec's dtype, which must be all zeros. Returns errors of the
// initializer, and DeadlineExceeded if the deadline has passed before one of its calls. After an error, some rows may
// have been filled.
Status FillByPlugin(const PluginFill& fill, uint64_t num_rows, Deadline deadline, std::byte* rows);

}  // namespace espalier::shard
