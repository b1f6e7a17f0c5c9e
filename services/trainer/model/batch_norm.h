// Batch normalization over the rows of all trainers (Ioffe, Szegedy 2015). In the forward and the backward pass, the
// column sums of all ranks are gathered and added up in rank order in double. T trainers therefore normalize as one
// trainer with the joined batch would, and all ranks hold bitwise equal running statistics.
#pragma once

#include <torch/torch.h>

#include "services/trainer/model/model.h"

namespace espalier::trainer {

// Weight, bias and running statistics of one width. The settings are those of torch's BatchNorm1d: eps 1e-5, momentum
// 0.1, unbiased running variance.
class BatchNormImpl : public torch::nn::Module {
 public:
  explicit BatchNormImpl(int64_t width);

  // Returns the normalized rows, [N, F] -> [N, F]. In training, uses the statistics of the rows of all ranks and
  // updates the running statistics: every rank must call it for the same tensors in the same order, even with zero
  // rows, and the collective must outlive the backward pass. Throws CollectiveError. Otherwise uses the running
  // statistics.
  torch::Tensor forward(const torch::Tensor& x, const LayerRun& run);

 private:
  torch::Tensor weight_, bias_;                    // f32 [F]
  torch::Tensor running_mean_, running_variance_;  // f32 [F]
};
TORCH_MODULE(BatchNorm);

}  // namespace espalier::trainer
