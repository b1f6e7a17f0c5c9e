// Defaults of a document that its table of fields cannot give.
#pragma once

#include "services/job/check_fields.h"

namespace espalier::job {

// Fills in the defaults that depend on other fields (the metric, when to save) or on where the job runs (tls.mode).
void FillDependentDefaults(RunsOn runs_on, nlohmann::ordered_json* values);

}  // namespace espalier::job
