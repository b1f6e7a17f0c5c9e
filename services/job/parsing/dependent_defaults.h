// Defaults that the field table cannot express as constants.
#pragma once

#include "services/job/checks/check_fields.h"

namespace espalier::job {

// Adds the defaults that depend on other fields (evaluation.metric, checkpoint.every, and the partitions.sourceColumns
// that LABOR needs) or on where the job runs (tls.mode). `values` must have passed CheckFields without violations.
void FillDependentDefaults(ReadBy read_by, nlohmann::ordered_json* values);

}  // namespace espalier::job
