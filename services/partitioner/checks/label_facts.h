// Properties of the values of a column in the rows of a split, for columns that a job may use as labels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/partition/manifest.h"
#include "services/job/dist_training.h"
#include "services/partitioner/checks/value_errors.h"

namespace espalier::partitioner {

// How a task interprets its labels: as one class; as 0 or 1 for each class (multiLabel); as numbers (regression).
enum class LabelKind { kClass, kFlags, kNumber };
// Returns the kind of the task's labels.
LabelKind ToLabelKind(const job::Task& task);

// Returns the properties of `column` in the rows of `parts`, which are the training, validation and test part of a
// split, for each kind of labels. Skips rows that the column does not have.
format::SplitLabels CollectSplitLabels(const Tensor& column, const std::vector<std::span<const uint64_t>>& parts,
                                       int threads);
// Returns the properties for labels of the kind `kind`.
const format::LabelFacts& SelectFacts(LabelKind kind, const format::SplitLabels& labels);

// Returns InvalidArgument if the task cannot be trained with these labels: a value is neither a label nor missing, or
// the training part has rows (`num_training_rows`) but no label. `type` is the DescribeType of the column's type.
Status CheckLabelFacts(const job::Task& task, const std::string& type, const format::LabelFacts& facts,
                       uint64_t num_training_rows);

}  // namespace espalier::partitioner
