// Row normalization of features: each row is scaled to sum to 1, as is usual for bag-of-words features.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/tensor.h"

namespace espalier::graph {

// Returns `column` with each row divided by its sum; a row that sums to zero is unchanged. The column must be floating
// and have two or more dimensions. Sums are computed in double from left to right. InvalidArgument names the first row
// with a quotient that is not finite.
Result<Tensor> NormalizedRows(const Tensor& column, int threads);

// Returns the error that NormalizedRows would return for the rows [first, last) of the column, without computing the
// normalized rows.
Status CheckRowsNormalize(const Tensor& column, uint64_t first, uint64_t last, int threads);

// Returns whether a node column holds features, whose rows are normalized: it is floating, has two or more dimensions
// and is not a label column.
bool HoldsFeatures(const std::string& name, const Tensor& column, const std::vector<std::string>& label_columns);

}  // namespace espalier::graph
