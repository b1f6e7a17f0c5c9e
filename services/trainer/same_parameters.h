// That ranks, which make the same updates, have the same parameters.
#pragma once

#include <string>

#include "services/collective/collective.h"

namespace espalier::trainer {

// Internal where ranks' digests (ParametersDigest) differ: something is wrong with a machine or a library, and the
// results are worth nothing. Every rank calls it.
Status CheckSameParameters(const std::string& digest, collective::Collective& collective, Deadline deadline);

}  // namespace espalier::trainer
