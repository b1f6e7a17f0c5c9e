// Checks whether a job can use the values of the columns that its document names. Uses the records of RecordValues
// (value_facts.h), so the check works both before a source is cut and for a job that reuses a partitioning without
// reading the source.
#pragma once

#include "services/partitioner/checks/document_names.h"

namespace espalier::partitioner {

// Returns InvalidArgument for the first column with values that the job cannot use:
// - labels, unless the job only applies a model (OnlyInfers): a value other than the integers in
//   [0, job::kMaxLabelClasses), -1 and NaN (for multi-label tasks: other than 0, 1, -1 and NaN; for regression: a value
//   that is infinite as F32), or no label in the training part;
// - features: NaN; unless features are normalized, also a finite F64 value that is infinite as F32;
// - weights: a value that is NaN, infinite or negative, or all values are 0;
// - seed times: 2^63 or later.
// For a wrong value, the message names the field, the column and, if it is recorded, the row of the source:
//   spec.training.sampling.weight: row 17 of column 'w' of edge type 'a:r:b' is -2.5: expected a finite weight, 0 or
//   larger
// Returns OK for jobs that are not trained by Espalier (IsTrainedByEspalier).
// Values that are not recorded are not checked. `metadata` is that of a source after RecordValues, or of a
// partitioning; CheckDocument must have returned OK for it.
Status CheckRecordedValues(const job::DistTraining& job, TrainedBy trained_by, const GraphMetadata& metadata);

}  // namespace espalier::partitioner
