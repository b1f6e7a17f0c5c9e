// Checks that the options of a draw fit together (docs/sampling.md). The checks run on every new specification, before
// a request is split by owner, and again in the partition that receives the request.
#pragma once

#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::sampler {

// Returns InvalidArgument if `replace` is true and the method cannot draw with replacement.
Status CheckDrawMethod(DrawMethod method, bool replace);

// Returns InvalidArgument if CheckDrawMethod does, or if a relation's times or walks do not have the expected length:
// times have one value per destination with a time column and are empty without one; walks have one value per
// destination in all relations, or are empty in all. Walks need DrawMethod::kNeighbor.
Status CheckDrawRule(const HopQuery& query);
Status CheckDrawRule(const PartitionHopQuery& query);

}  // namespace espalier::sampler
