// Rows that sum to one, as bags of words are usually given to a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/base/tensor.h"

namespace espalier::graph {

// Divides each row of a floating column of two or more dimensions by its sum; a row that sums to zero stays.
// Sums are taken in double, from left to right. InvalidArgument names the row whose quotients are not finite.
Result<Tensor> NormalizedRows(const Tensor& column, int threads);

// What NormalizedRows says of the rows [first, last), which are numbered as in the column. Nothing is made.
Status CheckRowsNormalize(const Tensor& column, uint64_t first, uint64_t last, int threads);

// Whether a node column holds features, whose rows are normalised: floating, of two or more dimensions, no label.
bool HoldsFeatures(const std::string& name, const Tensor& column, const std::vector<std::string>& label_columns);

}  // namespace espalier::graph
