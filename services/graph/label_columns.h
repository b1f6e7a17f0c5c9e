// Which columns may lack values. The one rule for missing values in every format: NaN in a floating label column says
// that a node, an edge, or one entry of a multi-label target has no label; every other column is complete.
#pragma once

#include <string>
#include <vector>

#include "services/base/tensor.h"

namespace espalier::graph {

struct LabelColumns {
  // Named by the user (spec.training.task.label, --label), on nodes and edges alike.
  std::vector<std::string> labels = {};
  // Read as numbers by the job (features, weights, times): complete even where the name is a label's.
  std::vector<std::string> complete = {};

  // Whether the column may lack values: it is one of `labels`, or its name is a label's, and it is not in `complete`.
  // Names of labels, in any case: "label", "labels", "y", and what ends in "label" or "labels" after a '-', '_' or '.'
  // ("node-label", "node_label", "edge-labels").
  bool MayLackValues(const std::string& column) const;
};

// Whether some value of the column is NaN. Integers and bools have none.
bool HasMissingValues(const Tensor& column);

// What an error about a missing value in a column that must be complete ends with.
inline constexpr char kOnlyLabelsLackValues[] =
    "only label columns may lack values: those called label, labels, y or *-label, and those named by "
    "spec.training.task.label or --label, unless the job computes with them (features, weights, times)";

}  // namespace espalier::graph
