// Combines the partitions' parts of a reduction.
#pragma once

#include <span>
#include <vector>

#include "services/base/tensor.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::sampler {

// Returns Internal if one partition's part (PartitionTensors::Reduce) has an unexpected dtype or shape.
Status CheckReductionPart(Reduction reduction, DType dtype, const std::vector<int64_t>& row_shape, const Tensor& part);

// Returns the result of the reduction, ReducedDType [row_shape...], from at least one part; Internal if
// CheckReductionPart rejects a part.
Result<Tensor> CombineReductionParts(Reduction reduction, DType dtype, const std::vector<int64_t>& row_shape,
                                     std::span<const Tensor> parts);

}  // namespace espalier::sampler
