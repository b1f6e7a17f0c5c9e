// Numbers that tell processes, clients and their acts apart.
#pragma once

#include <cstdint>

namespace espalier {

// Drawn from the system; nobody else has it, but for a chance of 2^-64. For names only: no result may depend on it.
uint64_t UniqueNumber();

}  // namespace espalier
