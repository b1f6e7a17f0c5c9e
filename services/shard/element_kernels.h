// Element-wise arithmetic on rows of any dtype: the kernels of writes and reductions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "services/base/tensor.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::shard {

// Computes into[i] = into[i] `write` from[i], as sampler::RowWrite defines it. Both arrays are aligned to the dtype;
// CheckWrite has passed.
void WriteElements(sampler::RowWrite write, DType dtype, std::byte* into, const std::byte* from, uint64_t num_elements);

// Reduces `rows` [num_rows, row_elements] to the result of sampler::PartitionTensors::Reduce. kMin and kMax need
// num_rows > 0.
Tensor ReduceRows(sampler::Reduction reduction, DType dtype, const std::byte* rows, uint64_t num_rows,
                  uint64_t row_elements);

// Stores `value` as one element of the dtype; CheckSpec has checked that it fits.
void StoreElement(DType dtype, double value, std::byte* into);

}  // namespace espalier::shard
