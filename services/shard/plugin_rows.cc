#include "services/shard/plugin_rows.h"

#include <algorithm>
#include <vector>

namespace espalier::shard {

Status FillByPlugin(const PluginFill& fill, uint64_t num_rows, Deadline deadline, std::byte* rows) {
  const uint64_t row_bytes = sampler::RowBytes(fill.spec.dtype, fill.spec.row_shape);
  if (row_bytes == 0) return Status();  // rows without values need no initializer
  const uint64_t block_rows = std::clamp<uint64_t>(kPluginBlockBytes / row_bytes, 1, kMaxPluginBlockRows);
  std::vector<uint64_t> original_ids;
  for (uint64_t first = 0; first < num_rows; first += block_rows) {
    if (deadline.HasPassed()) return DeadlineExceeded("its initializer took too long");
    const uint64_t count = std::min(block_rows, num_rows - first);
    original_ids.clear();
    for (uint64_t row = first; row < first + count; ++row) original_ids.push_back(fill.original_id(row));
    const sampler::RowsToFill block{.spec = fill.spec,
                                    .book = fill.book,
                                    .partition = fill.partition,
                                    .first_local = first,
                                    .original_ids = original_ids,
                                    .values = {rows + first * row_bytes, count * row_bytes}};
    RETURN_IF_ERROR(fill.initializers.Fill(block, deadline));
  }
  return Status();
}

}  // namespace espalier::shard
