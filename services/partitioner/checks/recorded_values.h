// Checks whether a job can use the values of the columns that its document names. Uses the records of RecordValues
// (value_facts.h), so the check works both before a source is cut and for a job that reuses a partitioning without
// reading the source.
#pragma once

#include "services/partitioner/checks/document_names.h"

namespace espalier::partitioner {

// Returns InvalidArgument for the first column with values that the job cannot use: a label that is not a class in [0,
// job::kMaxLabelClasses), -1 or NaN (multi-label: not 0, 1, -1 or NaN; regression: infinite as F32); no label in the
// training part; an F64 feature that is infinite as F32, unless features are normalized; a weight that is negative or
// not finite; weights that are all 0; a seed time of 2^63 or later; a feature or weight that is NaN. The message
// names the field, the column and the row of the source:
//   spec.training.sampling.weight: row 17 of column 'w' of edge type 'a:r:b' is -2.5: expected a finite weight, 0 or
//   larger
// Values that are not recorded are not checked. `names` are those of a source after RecordValues, or of a partitioning;
// CheckDocument must have returned OK for them.
Status CheckRecordedValues(const job::DistTraining& job, TrainedBy trained_by, const GraphNames& names);

}  // namespace espalier::partitioner
