// Rows that sum to one, as bags of words are usually given to a model.
#pragma once

#include "services/base/tensor.h"

namespace espalier::graph {

// Divides each row of a floating column of two or more dimensions by its sum; a row that sums to zero stays.
// Sums are taken in double, from left to right. InvalidArgument names the row whose quotients are not finite.
Result<Tensor> NormalizedRows(const Tensor& column, int threads);

}  // namespace espalier::graph
