// What a valid document says that surprises.
#pragma once

#include <string>
#include <vector>

#include "services/job/dist_training.h"

namespace espalier::job {

// Returns one sentence for each, which begins with the field's path: a value that is allowed and most likely meant
// otherwise, with the remedy. Empty for most documents.
std::vector<std::string> JobWarnings(const DistTraining& job);

}  // namespace espalier::job
