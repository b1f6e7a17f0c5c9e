// Converts the checked values of a document to a DistTraining.
#pragma once

#include "services/job/checks/check_fields.h"
#include "services/job/dist_training.h"

namespace espalier::job {

// Returns the job with the given values, which must have passed CheckFields without violations. Fields without a value
// keep the initial values of DistTraining.
DistTraining ToDistTraining(const nlohmann::ordered_json& values);

}  // namespace espalier::job
