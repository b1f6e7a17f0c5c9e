// Gathers rows of a column into a sink.
#pragma once

#include <span>

#include "services/base/tensor.h"
#include "services/graph/ids.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::shard {

// Copies the rows of `nodes` or `ids` to their positions in the sink. `rows` points to the first byte of row 0.
// InvalidArgument, with nothing written, if the sink has another row_bytes or number of positions, or if an id is not
// below num_rows.
Status GatherInto(const std::byte* rows, uint64_t num_rows, size_t row_bytes, std::span<const LocalNodeId> nodes,
                  const sampler::RowSink& sink);
Status GatherInto(const std::byte* rows, uint64_t num_rows, size_t row_bytes, std::span<const LocalRowId> ids,
                  const sampler::RowSink& sink);

// Like GatherInto for a column of U32 ids, which become U64 rows.
Status GatherWidened(std::span<const uint32_t> ids, std::span<const LocalNodeId> nodes, const sampler::RowSink& sink);

// Checks the arguments as the functions above do.
Status CheckGather(uint64_t num_rows, size_t row_bytes, std::span<const LocalNodeId> nodes,
                   const sampler::RowSink& sink);

}  // namespace espalier::shard
