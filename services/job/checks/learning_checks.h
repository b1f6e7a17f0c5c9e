// Checks of the relations between the fields of inputs, learnable rows, optimizers and learning-rate schedules.
#pragma once

#include <vector>

#include "services/job/checks/placed_violations.h"
#include "services/job/dist_training.h"

namespace espalier::job {

// Adds a violation for each conflict. A field that the chosen type of optimizer, schedule or initializer does not use
// must have its default. `plugins`: spec.servers.plugins.
void CheckLearning(const Training& training, const std::vector<ServerPlugin>& plugins, PlacedViolations* violations);

}  // namespace espalier::job
