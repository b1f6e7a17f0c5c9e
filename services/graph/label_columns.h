// Which columns may have missing values. The rule is the same for every format: NaN in a floating label column means
// that a node, an edge or one entry of a multi-label target has no label. Every other column must be complete.
#pragma once

#include <string>
#include <vector>

#include "services/base/tensor.h"

namespace espalier::graph {

struct LabelColumns {
  // Columns of nodes or edges that the user names as labels (spec.training.task.label, --label).
  std::vector<std::string> labels = {};
  // Columns that the job uses as numbers (features, weights, times). They must be complete even if they are named like
  // labels.
  std::vector<std::string> complete = {};

  // Returns whether the column may have missing values: it is in `labels` or is named like a label, and it is not in
  // `complete`. A column is named like a label if its name is "label", "labels" or "y", or ends in "label" or
  // "labels" after a '-', '_' or '.' ("node-label", "edge_labels"), in upper or lower case.
  bool MayLackValues(const std::string& column) const;
};

// Returns whether any value of the column is NaN; false for integers and bools.
bool HasMissingValues(const Tensor& column);

// The end of an error message about a missing value in a column that must be complete.
inline constexpr char kOnlyLabelsLackValues[] =
    "only label columns may lack values: those called label, labels, y or *-label, and those named by "
    "spec.training.task.label or --label, unless the job computes with them (features, weights, times)";

}  // namespace espalier::graph
