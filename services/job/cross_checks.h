// What relates the fields of a document to each other.
#pragma once

#include "services/job/check_fields.h"
#include "services/job/dist_training.h"

namespace espalier::job {

// Fills in the defaults that depend on other fields (the metric, when to save) or on where the job runs (tls.mode).
void FillDependentDefaults(RunsOn runs_on, nlohmann::ordered_json* values);

// Violations stand where the field that does not fit was written.
void CheckRelations(const DistTraining& job, const CheckedDocument& document, Violations* violations);

}  // namespace espalier::job
