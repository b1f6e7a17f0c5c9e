// All gradients of a model in one buffer, so that an all-reduce is one call without copies: every parameter's grad() is
// a view of the buffer, and backward passes add to it in place.
#pragma once

#include <torch/torch.h>

#include <span>
#include <vector>

#include "services/trainer/optim/optimizers.h"

namespace espalier::trainer {

// Owned by one thread. The grad() tensors of the parameters must not be replaced while this exists.
class FlatGradients {
 public:
  // The buffer has `num_extra` more floats after the gradients. The caller can use them for values of its own that are
  // to be summed in the same all-reduce.
  FlatGradients(const NamedTensors& parameters, int64_t num_extra);

  // Sets gradients and extras to zero.
  void Clear();
  std::span<float> values();  // gradients in the order of the parameters, then the extras
  std::span<float> extra_values();

 private:
  torch::Tensor flat_;  // f32 [gradients + extras]
  int64_t num_extra_;
};

}  // namespace espalier::trainer
