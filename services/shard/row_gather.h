// Rows of a column to their places.
#pragma once

#include <span>

#include "services/base/tensor.h"
#include "services/graph/ids.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::shard {

// InvalidArgument where the sink does not fit the column or a node does not exist; nothing is written then.
// `rows`: the first byte of row 0.
Status GatherInto(const std::byte* rows, uint64_t num_rows, size_t row_bytes, std::span<const LocalNodeId> nodes,
                  const sampler::RowSink& sink);
Status GatherInto(const std::byte* rows, uint64_t num_rows, size_t row_bytes, std::span<const LocalRowId> ids,
                  const sampler::RowSink& sink);

// U32 ids widened to U64 rows.
Status GatherWidened(std::span<const uint32_t> ids, std::span<const LocalNodeId> nodes, const sampler::RowSink& sink);

// What both check first.
Status CheckGather(uint64_t num_rows, size_t row_bytes, std::span<const LocalNodeId> nodes,
                   const sampler::RowSink& sink);

}  // namespace espalier::shard
