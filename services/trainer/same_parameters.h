// Checks that all ranks, which apply the same updates, end with the same parameters.
#pragma once

#include <string>

#include "services/collective/collective.h"

namespace espalier::trainer {

// Compares the digests (ParametersDigest) of all ranks. Returns Internal if they differ: a machine or a library has
// computed wrong results, so the model must not be used. Every rank must call it with digests of equal length.
Status CheckSameParameters(const std::string& digest, collective::Collective& collective, Deadline deadline);

}  // namespace espalier::trainer
