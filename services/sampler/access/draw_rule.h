// Checks that the options of a draw fit together (docs/sampling.md). CheckDrawMethod checks each new SamplingSpec.
// CheckDrawRule checks a query before it is split by owner, and again in the partition that receives a part of it.
#pragma once

#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::sampler {

// Returns InvalidArgument if the method does not exist, or if `replace` is true and the method cannot draw with
// replacement.
Status CheckDrawMethod(DrawMethod method, bool replace);

// Returns InvalidArgument if CheckDrawMethod does, or if a relation's `times` or `walks` do not have the expected
// length: `times` has one value per destination if draw.time_column is set, and is empty otherwise; `walks` has one
// value per destination in all relations, or is empty in all. `walks` needs DrawMethod::kNeighbor.
Status CheckDrawRule(const HopQuery& query);
Status CheckDrawRule(const PartitionHopQuery& query);

}  // namespace espalier::sampler
