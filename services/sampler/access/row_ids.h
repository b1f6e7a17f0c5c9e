// Ids of rows of mutable tensors, which may belong to nodes, edges or the tensor itself.
#pragma once

#include <cstdint>

#include "services/base/strong_id.h"

namespace espalier {

// The global id of the row's node or edge; for own rows (RowsOf::kOwn), the number of the row.
using GlobalRowId = StrongId<struct GlobalRowTag, uint64_t>;
// Dense within one partition and row space: global - first of the range.
using LocalRowId = StrongId<struct LocalRowTag, uint32_t>;

}  // namespace espalier
