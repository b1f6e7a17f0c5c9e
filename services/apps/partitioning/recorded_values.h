// Checks what a manifest tells of the values that its source had, for a job that reuses the partitioning: the source is
// not read again.
#pragma once

#include "services/apps/partitioning/document_names.h"

namespace espalier::partitioning {

// `names` are a partitioning's, or those of a source whose columns that lack values are known, and CheckDocument was
// ok. Returns InvalidArgument for the first column that the job computes with and that has values which it cannot use,
// in the words of CheckSourceValues. What the manifest does not tell is not checked.
Status CheckRecordedValues(const job::DistTraining& job, TrainedBy trained_by, const GraphNames& names);

}  // namespace espalier::partitioning
