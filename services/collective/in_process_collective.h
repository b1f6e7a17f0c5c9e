// Ranks that are threads of one process. Operands are combined in rank order by whichever rank arrives last, so
// sums are the same bits in every run.
#pragma once

#include <memory>
#include <vector>

#include "services/collective/collective.h"

namespace espalier::collective {

// One handle per rank, each for one thread. Destroying a handle while others still call kills the group: they get
// Unavailable at once instead of waiting for their deadline.
std::vector<std::unique_ptr<Collective>> MakeInProcessGroup(uint32_t size);

}  // namespace espalier::collective
