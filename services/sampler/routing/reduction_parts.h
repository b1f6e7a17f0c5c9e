// Combines the partitions' parts of a reduction.
#pragma once

#include <span>
#include <vector>

#include "services/base/tensor.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::sampler {

// Checks dtype and shape of one partition's part (PartitionTensors::Reduce).
Status CheckReductionPart(Reduction reduction, DType dtype, const std::vector<int64_t>& row_shape, const Tensor& part);

// Returns ReducedDType [row_shape...], combined from at least one part. Internal if a part has an unexpected dtype or
// shape.
Result<Tensor> ReducedOfParts(Reduction reduction, DType dtype, const std::vector<int64_t>& row_shape,
                              std::span<const Tensor> parts);

}  // namespace espalier::sampler
