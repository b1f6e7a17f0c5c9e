// What relates the fields that say what is learned: inputs with their learnable rows, optimisers, schedules.
#pragma once

#include <vector>

#include "services/job/dist_training.h"
#include "services/job/placed_violations.h"

namespace espalier::job {

// Fields with a default that another kind of optimiser, schedule or initialiser does not heed are refused where they
// say something else than it. `plugins`: of the servers.
void CheckLearning(const Training& training, const std::vector<ServerPlugin>& plugins, PlacedViolations* violations);

}  // namespace espalier::job
