// Warnings about valid job documents: fields whose value is allowed but probably a mistake.
#pragma once

#include <string>
#include <vector>

#include "services/job/dist_training.h"

namespace espalier::job {

// Returns one message per suspicious value. Each message begins with the field's path and names the remedy. Empty for
// most documents.
std::vector<std::string> JobWarnings(const DistTraining& job);

}  // namespace espalier::job
