// What the rows of a split hold in a column that a job may take for labels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "services/base/tensor.h"
#include "services/format/manifest.h"
#include "services/job/dist_training.h"
#include "services/partitioner/checks/value_errors.h"

namespace espalier::partitioner {

// How a task reads its labels: a class, a 0 or 1 of each class (multiLabel), or numbers (regression).
enum class LabelKind { kClass, kFlags, kNumber };
LabelKind KindOfLabels(const job::Task& task);

// Returns what `column` holds in the rows of `parts`, the training, validation and test part of a split. Rows that the
// column does not have are skipped.
format::SplitLabels CollectSplitLabels(const Tensor& column, const std::vector<std::span<const uint64_t>>& parts,
                                       int threads);
const format::LabelFacts& SelectFacts(LabelKind kind, const format::SplitLabels& labels);

// Returns InvalidArgument where the task cannot train by such labels: the first wrong value, or no label in the
// training part, which has `num_training_rows`. `owner`: OwnerName.
Status CheckLabelFacts(const job::Task& task, const std::string& owner, const format::LabelFacts& facts,
                       uint64_t num_training_rows);

}  // namespace espalier::partitioner
