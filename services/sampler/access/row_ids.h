// Ids of rows of mutable tensors, which may belong to nodes, edges or the tensor itself.
#pragma once

#include <cstdint>

#include "services/base/strong_id.h"

namespace espalier {

// The global id of the row's node or edge; for own rows (RowsOf::kOwn), the index of the row in the whole tensor.
using GlobalRowId = StrongId<struct GlobalRowTag, uint64_t>;
// The id within one partition and row space: the global id minus the partition's first global id (FirstRows of
// tensor_spec.h).
using LocalRowId = StrongId<struct LocalRowTag, uint32_t>;

}  // namespace espalier
