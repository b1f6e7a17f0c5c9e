// The partitions' parts of a reduction put together.
#pragma once

#include <span>
#include <vector>

#include "services/base/tensor.h"
#include "services/sampler/access/tensor_spec.h"

namespace espalier::sampler {

// dtype and shape of one partition's part (PartitionTensors::Reduce).
Status CheckReductionPart(Reduction reduction, DType dtype, const std::vector<int64_t>& row_shape, const Tensor& part);

// ReducedDType [row_shape...] of at least one part. Internal where a part is not of the expected dtype and shape.
Result<Tensor> ReducedOfParts(Reduction reduction, DType dtype, const std::vector<int64_t>& row_shape,
                              std::span<const Tensor> parts);

}  // namespace espalier::sampler
