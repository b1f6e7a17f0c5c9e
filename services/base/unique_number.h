// Unique numbers that identify processes, clients and requests.
#pragma once

#include <cstdint>

namespace espalier {

// Returns a random number from the system. Two numbers are equal with probability 2^-64. Only for identifiers: no
// training result may depend on it.
uint64_t UniqueNumber();

}  // namespace espalier
