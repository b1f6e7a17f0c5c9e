// Checked values -> DistTraining.
#pragma once

#include "services/job/check_fields.h"
#include "services/job/dist_training.h"

namespace espalier::job {

// `values` passed CheckFields without violations.
DistTraining ToDistTraining(const nlohmann::ordered_json& values);

}  // namespace espalier::job
