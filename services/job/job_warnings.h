// Warnings about valid job documents: fields whose value is allowed but probably a mistake.
#pragma once

#include <string>
#include <vector>

#include "services/job/dist_training.h"

namespace espalier::job {

// Returns one sentence for each, which begins with the field's path: a value that is allowed and most likely meant
// otherwise, with the remedy. Empty for most documents.
std::vector<std::string> JobWarnings(const DistTraining& job);

}  // namespace espalier::job
