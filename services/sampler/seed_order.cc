#include "services/sampler/seed_order.h"

#include <algorithm>

namespace espalier::sampler {

PositionRange PositionsOfStep(uint64_t total, uint64_t batch_size, uint32_t step) {
  uint64_t first = 0;
  if (__builtin_mul_overflow(batch_size, uint64_t{step}, &first) || first >= total) return {total, total};
  return {first, first + std::min(batch_size, total - first)};
}

uint64_t StepsOfEpoch(uint64_t total, uint64_t batch_size) {
  return total / batch_size + (total % batch_size != 0 ? 1 : 0);
}

}  // namespace espalier::sampler
