// The document's words for draws, as the sampler has them.
#pragma once

#include "services/job/dist_training.h"
#include "services/sampler/draws/sampling_spec.h"
#include "services/sampler/seeds/negatives.h"

namespace espalier::job {

sampler::DrawMethod DrawMethodOf(SamplingMethod method);
sampler::NegativeKind NegativeKindOf(Negatives negatives);

}  // namespace espalier::job
