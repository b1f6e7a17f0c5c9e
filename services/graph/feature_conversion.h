// Conversion of node features before a graph is partitioned: row normalization, as is usual for bag-of-words features,
// and a narrower dtype, which takes less memory, disk space and network traffic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/base/tensor.h"

namespace espalier::graph {

struct FeatureConversion {
  bool normalizes_rows = false;  // divides each row by its sum; a row that sums to zero is unchanged
  // dtype of the result: floating, or I8 with a scale for each element of a row, the same scales for all rows
  // (feature_scales.h); nullopt: the dtype does not change.
  std::optional<DType> dtype = {};

  // Returns whether any conversion is requested.
  bool ChangesValues() const { return normalizes_rows || dtype.has_value(); }
  // Returns whether features become I8 with scales.
  bool HasScales() const { return dtype == DType::kI8; }
};

// Returns InvalidArgument unless the column is floating and has two or more dimensions.
Status CheckHasFeatures(const Tensor& column);

// Returns the converted column, which shares its memory with `column` if neither values nor dtype change. The column
// must be floating and have two or more dimensions. Sums (from left to right) and quotients are computed in double;
// each quotient is then rounded once, to the nearest value of the result's dtype. InvalidArgument names the first row
// with a result that is not finite. If only the dtype changes, NaN and infinities in the column are no error.
// conversion.dtype must not be I8 (for which see feature_scales.h).
Result<Tensor> ConvertFeatures(const Tensor& column, const FeatureConversion& conversion, int threads);

// Returns the error that ConvertFeatures would return for the rows [first, last) of the column, without computing the
// converted rows.
Status CheckFeaturesConvert(const Tensor& column, const FeatureConversion& conversion, uint64_t first, uint64_t last,
                            int threads);

// Returns whether a node column holds features: it is floating, has two or more dimensions and is not a label column.
bool HoldsFeatures(const std::string& name, const Tensor& column, const std::vector<std::string>& label_columns);

}  // namespace espalier::graph
