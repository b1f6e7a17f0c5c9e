// Checks that the options of a draw fit together (docs/sampling.md). The checks run on every new specification, before
// a request is split by owner, and again in the partition that receives the request.
#pragma once

#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::sampler {

// Returns InvalidArgument if `replace` is true and the method cannot draw with replacement.
Status CheckDrawMethod(DrawMethod method, bool replace);

// Also checks that every relation with times or walks has one for each destination, and that all relations have walks
// or none has.
Status CheckDrawRule(const HopQuery& query);
Status CheckDrawRule(const PartitionHopQuery& query);

}  // namespace espalier::sampler
