// Which combinations of the ways to draw make sense (docs/sampling.md): checked where a specification is taken, before
// a question is sorted by owners, and again where a partition is asked.
#pragma once

#include "services/sampler/access/neighbor_source.h"
#include "services/sampler/access/partition_access.h"

namespace espalier::sampler {

// InvalidArgument for a method that cannot draw with replacement.
Status CheckDrawMethod(DrawMethod method, bool replace);

// The same, and that times and walks fit the destinations of every relation: walks come with all of them or with none.
Status CheckDrawRule(const HopQuery& query);
Status CheckDrawRule(const PartitionHopQuery& query);

}  // namespace espalier::sampler
