// Adam, AdamW and SGD as torch defines them, one fused pass over each parameter, with a state that checkpoints
// can name. Each element's update is its own, so results do not depend on threads.
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
  // Parameters: f32, contiguous, distinct names. They are shared, not copied.
  Optimizer(const job::Optimizer& options, NamedTensors parameters);

  // One update with each parameter's gradient; a parameter without one counts as having zeros, so that every
  // rank does the same whatever its batch reached.
  void Step(double learning_rate);

  // Steps taken and moments by name ("step", "moment1.<parameter>", "moment2.<parameter>", "velocity.<parameter>").
  // The tensors are copies.
  NamedTensors State() const;
  // InvalidArgument where a tensor is missing, unknown or of another shape; then nothing has changed.
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

  job::Optimizer options_;
  int64_t step_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace espalier::trainer
