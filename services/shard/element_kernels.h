// Element-wise arithmetic on rows of any dtype: what writing to and reducing a tensor come down to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/base/tensor.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::shard {

// into[i] = into[i] `write` from[i], as sampler::RowWrite says it. Both aligned to the dtype; CheckWrite has passed.
void WriteElements(sampler::RowWrite write, DType dtype, std::byte* into, const std::byte* from, uint64_t num_elements);

// [num_rows, num_columns] down to what sampler::PartitionTensors::Reduce answers with.
Tensor ReduceRows(sampler::Reduction reduction, DType dtype, const std::byte* rows, uint64_t num_rows,
                  uint64_t num_columns);

// One element as the dtype keeps it; the value has been checked to fit (CheckSpec).
void StoreElement(DType dtype, double value, std::byte* into);

}  // namespace espalier::shard
