// Adam, AdamW and SGD as defined by torch, with named state for checkpoints. On the CPU, a step is one fused pass over
// each parameter; on other devices it consists of operations of torch.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/base/status.h"
#include "services/job/dist_training.h"

namespace espalier::trainer {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

// Thread-compatible. Weight decay is added to the gradient (Adam, SGD) or shrinks the parameter (AdamW).
class Optimizer {
 public:
  // `parameters` are f32 and contiguous (checked) with distinct names, on any device. They are shared, not copied.
  Optimizer(const job::Optimizer& options, NamedTensors parameters);

  // Updates each parameter with its gradient. A missing gradient counts as zero, so that all ranks make the same update
  // whatever their mini-batches contain.
  void Step(double learning_rate);

  // Returns copies, in the host's memory, of the number of steps and of the moments: "step", "moment1.<parameter>",
  // "moment2.<parameter>", "velocity.<parameter>".
  NamedTensors State() const;
  // Restores a state that State has returned. InvalidArgument: a tensor is missing, unknown, or of another shape or
  // dtype; the optimizer is then unchanged.
  Status LoadState(const NamedTensors& state);

 private:
  struct Slot {
    std::string name;
    torch::Tensor parameter;
    torch::Tensor first;   // Adam: first moment; SGD with momentum: velocity; undefined otherwise
    torch::Tensor second;  // Adam: second moment
  };

  void StepAdam(Slot& slot, const torch::Tensor& gradient, double learning_rate) const;
  void StepSgd(Slot& slot, const torch::Tensor& gradient, double learning_rate) const;
  void StepAdamByTorch(Slot& slot, const torch::Tensor& gradient, double learning_rate) const;
  void StepSgdByTorch(Slot& slot, const torch::Tensor& gradient, double learning_rate) const;

  job::Optimizer options_;
  int64_t step_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace espalier::trainer
