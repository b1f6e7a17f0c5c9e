// What relates the fields of a document to each other.
#pragma once

#include "services/job/check_fields.h"
#include "services/job/dist_training.h"

namespace espalier::job {

// Violations stand where the field that does not fit was written.
void CheckRelations(const DistTraining& job, const CheckedDocument& document, Violations* violations);

}  // namespace espalier::job
