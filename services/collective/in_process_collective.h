// Collective whose ranks are threads of one process. The last rank to enter an operation combines the operands in rank
// order, so sums have the same bits in every run.
#pragma once

#include <memory>
#include <vector>

#include "services/collective/collective.h"

namespace espalier::collective {

// Returns one handle per rank, in rank order. Destroying a handle fails the group: operations of the other ranks return
// Unavailable at once instead of at their deadline.
std::vector<std::unique_ptr<Collective>> MakeInProcessGroup(uint32_t size);

}  // namespace espalier::collective
