#pragma once

#include <cstdint>

#include "services/sampler/seeds/seed_order.h"

namespace espalier::client {

enum class LastBatch { kKeep, kDrop };  // whether an incomplete last batch of an epoch is kept

// Of an epoch over `total` seeds. batch_size > 0.
inline uint64_t StepsOfLoader(uint64_t total, uint64_t batch_size, LastBatch last) {
  return last == LastBatch::kDrop ? total / batch_size : sampler::StepsOfEpoch(total, batch_size);
}

}  // namespace espalier::client
