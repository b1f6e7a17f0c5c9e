// Batch normalisation over the rows of all trainers (Ioffe, Szegedy 2015). Counts, sums and square sums are
// gathered and added in rank order in double, forward and backward, so that T trainers normalise as one trainer
// with the joined batch would, and all of them hold the same running statistics to the bit.
#pragma once

#include <torch/torch.h>

#include "services/trainer/model/model.h"

namespace espalier::trainer {

// Weight, bias and running statistics of one width; as torch's BatchNorm1d: eps 1e-5, momentum 0.1, unbiased
// running variance.
class BatchNormImpl : public torch::nn::Module {
 public:
  explicit BatchNormImpl(int64_t width);

  // [N, F] -> [N, F]. Training: every rank calls it for the same tensors in the same order, with zero rows too,
  // and the collective outlives the backward pass; throws CollectiveError. Otherwise: the running statistics.
  torch::Tensor forward(const torch::Tensor& x, const LayerRun& run);

 private:
  torch::Tensor weight_, bias_;                    // f32 [F]
  torch::Tensor running_mean_, running_variance_;  // f32 [F]
};
TORCH_MODULE(BatchNorm);

}  // namespace espalier::trainer
