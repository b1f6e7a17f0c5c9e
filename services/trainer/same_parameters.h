// Checks that all ranks end with the same parameters, as they must after applying the same updates.
#pragma once

#include <string>

#include "services/collective/collective.h"

namespace espalier::trainer {

// Compares the digests (DigestParameters) of all ranks. Returns Internal if they differ: then a machine or a library
// has computed wrong results, and the model must not be used. Every rank must call it with digests of equal length.
Status CheckSameParameters(const std::string& digest, collective::Collective& collective, Deadline deadline);

}  // namespace espalier::trainer
