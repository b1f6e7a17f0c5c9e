// All gradients of a model in one buffer, so that an all-reduce is one call without copies: every parameter's
// grad() is a view of it, and backward passes add into it in place.
#pragma once

#include <torch/torch.h>

#include <span>
#include <vector>

#include "services/trainer/optim/optimizers.h"

namespace espalier::trainer {

// Owned by one thread. Nobody else may replace the parameters' gradients while it lives.
class FlatGradients {
 public:
  // Room for `num_extra` floats of the caller's behind the gradients: they ride on the same all-reduce.
  FlatGradients(const NamedTensors& parameters, int64_t num_extra);

  // Gradients and extras to zero.
  void Clear();
  std::span<float> values();  // gradients in the parameters' order, then the extras
  std::span<float> extra_values();

 private:
  torch::Tensor flat_;  // f32 [gradients + extras]
  int64_t num_extra_;
};

}  // namespace espalier::trainer
