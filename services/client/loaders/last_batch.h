// Treatment of an incomplete last mini-batch of an epoch.
#pragma once

#include <cstdint>

#include "services/sampler/seeds/seed_order.h"

namespace espalier::client {

// Whether a last batch of an epoch with fewer than batch_size seeds is kept or dropped.
enum class LastBatch { kKeep, kDrop };

// Returns the number of steps of an epoch over `total` seeds. batch_size > 0.
inline uint64_t CountLoaderSteps(uint64_t total, uint64_t batch_size, LastBatch last) {
  return last == LastBatch::kDrop ? total / batch_size : sampler::StepsOfEpoch(total, batch_size);
}

}  // namespace espalier::client
