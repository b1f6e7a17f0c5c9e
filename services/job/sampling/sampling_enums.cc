#include "services/job/sampling/sampling_enums.h"

namespace espalier::job {

sampler::DrawMethod DrawMethodOf(SamplingMethod method) {
  switch (method) {
    case SamplingMethod::kNeighbor: return sampler::DrawMethod::kNeighbor;
    case SamplingMethod::kLabor: return sampler::DrawMethod::kLabor;
    case SamplingMethod::kLast: return sampler::DrawMethod::kLast;
  }
  return sampler::DrawMethod::kNeighbor;
}

sampler::NegativeKind NegativeKindOf(Negatives negatives) {
  switch (negatives) {
    case Negatives::kUniform: return sampler::NegativeKind::kUniform;
    case Negatives::kJoint: return sampler::NegativeKind::kJoint;
    case Negatives::kInBatch: return sampler::NegativeKind::kInBatch;
    case Negatives::kInDegree: return sampler::NegativeKind::kInDegree;
    case Negatives::kGlobalUniform: return sampler::NegativeKind::kGlobalUniform;
  }
  return sampler::NegativeKind::kUniform;
}

}  // namespace espalier::job
