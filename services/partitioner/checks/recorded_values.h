// Checks what a manifest records of its source's values, for a job that reuses the partitioning and does not read the
// source again.
#pragma once

#include "services/partitioner/checks/document_names.h"

namespace espalier::partitioner {

// Returns InvalidArgument for the first column that the job computes with and that has values which it cannot use, in
// the words of CheckSourceValues. What the manifest does not record is not checked. `names`: of a partitioning, or of a
// source for which lacks_values is set. CheckDocument must have returned OK for them.
Status CheckRecordedValues(const job::DistTraining& job, TrainedBy trained_by, const GraphNames& names);

}  // namespace espalier::partitioner
