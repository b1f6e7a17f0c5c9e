// Gathers rows of a column into a sink.
#pragma once

#include <span>

#include "services/base/tensor.h"
#include "services/graph/ids.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::shard {

// Copies the requested rows to their places. `rows` points to the first byte of row 0. InvalidArgument, with nothing
// written, if the sink does not fit the column or a node does not exist.
Status GatherInto(const std::byte* rows, uint64_t num_rows, size_t row_bytes, std::span<const LocalNodeId> nodes,
                  const sampler::RowSink& sink);
Status GatherInto(const std::byte* rows, uint64_t num_rows, size_t row_bytes, std::span<const LocalRowId> ids,
                  const sampler::RowSink& sink);

// Copies U32 ids to U64 rows.
Status GatherWidened(std::span<const uint32_t> ids, std::span<const LocalNodeId> nodes, const sampler::RowSink& sink);

// Checks the arguments; both functions above call it first.
Status CheckGather(uint64_t num_rows, size_t row_bytes, std::span<const LocalNodeId> nodes,
                   const sampler::RowSink& sink);

}  // namespace espalier::shard
