// Batch normalization over the rows of all trainers (Ioffe, Szegedy 2015). In the forward and the backward pass, the
// column sums of all ranks are gathered and added up in rank order in double. The rows of all trainers are therefore
// normalized like one batch, and all ranks have bitwise equal running statistics.
#pragma once

#include <torch/torch.h>

#include "services/trainer/model/model.h"

namespace espalier::trainer {

// Weight, bias and running statistics of `width` columns. The settings are those of torch's BatchNorm1d: eps 1e-5,
// momentum 0.1, unbiased running variance.
class BatchNormImpl : public torch::nn::Module {
 public:
  explicit BatchNormImpl(int64_t width);

  // Returns the normalized rows, f32 [N, F] -> [N, F]. If run.training, uses the statistics of the rows of all ranks
  // and updates the running statistics; otherwise uses the running statistics. In training, every rank must call it for
  // the same layers in the same order, even with zero rows, and run.collective must outlive the backward pass. Throws
  // CollectiveError.
  torch::Tensor forward(const torch::Tensor& x, const LayerRun& run);

 private:
  torch::Tensor weight_, bias_;                    // f32 [F]
  torch::Tensor running_mean_, running_variance_;  // f32 [F]
};
TORCH_MODULE(BatchNorm);

}  // namespace espalier::trainer
