// A pass over the weights, state and gradients of a sparse optimizer's step, with prefetching and minimal arithmetic.
// Its time is the floor for the step.
#pragma once

#include <span>

#include "services/shard/sparse_step.h"

namespace espalier::benchmarks {

// Reads all gradients, in order, and updates the weights and state of their rows. Prefetches 8 rows ahead.
inline void TouchRows(const shard::LearnableTable& table, std::span<const shard::RowGradients> gradients) {
  constexpr size_t kAhead = 8, kLine = 16;  // rows; floats in a cache line
  const size_t width = table.width, state_width = table.state_width;
  for (const shard::RowGradients& part : gradients) {
    for (size_t i = 0; i < part.rows.size(); ++i) {
      if (i + kAhead < part.rows.size()) {
        const uint64_t later = part.rows[i + kAhead].value;
        for (size_t at = 0; at < width; at += kLine) __builtin_prefetch(table.weights.row(later) + at, 1);
        for (size_t at = 0; at < state_width; at += kLine) __builtin_prefetch(table.state.row(later) + at, 1);
      }
      float* __restrict weights = table.weights.row(part.rows[i].value);
      float* __restrict state = table.state.row(part.rows[i].value);
      const float* __restrict gradient = part.gradients + i * width;
      for (size_t j = 0; j < width; ++j) weights[j] -= gradient[j];
      for (size_t j = 0; j < state_width; ++j) state[j] += 1.0f;
    }
  }
}

}  // namespace espalier::benchmarks
