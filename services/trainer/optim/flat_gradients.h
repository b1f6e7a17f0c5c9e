// All gradients of a model in one buffer, so that an all-reduce is one call: every parameter's grad() is a view of the
// buffer, and backward passes add to it in place. On the CPU nothing is copied. Gradients of a model on another device
// are either summed there, or copied to the host for the all-reduce, and back.
#pragma once

#include <torch/torch.h>

#include <span>
#include <vector>

#include "services/collective/collective.h"
#include "services/trainer/optim/optimizers.h"

namespace espalier::trainer {

// Owned by one thread. The grad() tensors of the parameters must not be replaced while this exists.
class FlatGradients {
 public:
  // The buffer has `num_extra` more floats after the gradients, always in the host's memory. The caller can use them
  // for values of its own that are to be summed in the same all-reduce. All parameters are on one device.
  FlatGradients(const NamedTensors& parameters, int64_t num_extra);

  // Sets gradients and extras to zero.
  void Clear();
  // Replaces gradients and extras with their sums over all ranks: on the device if the gradients lie there and the
  // collective sums there, otherwise on the host. Throws torch's errors of copies. After an error the values are
  // undefined.
  Status SumOver(collective::Collective& collective, Deadline deadline);
  // Returns the gradients in the order of the parameters, then the extras, in the host's memory. The caller may change
  // them; CopyToDevice then makes them the parameters' gradients.
  std::span<float> CopyToHost();
  void CopyToDevice();
  std::span<float> extra_values();

  // Whether the gradients are in the memory of another device.
  bool is_on_device() const { return on_device_.defined(); }
  // Copies the extras to the device and returns the buffer there, f32 [gradients + extras]. The caller may change the
  // buffer in place; CopyExtrasToHost then copies its extras to extra_values(). Call it only if is_on_device().
  torch::Tensor CopyExtrasToDevice();
  void CopyExtrasToHost();

 private:
  torch::Tensor GradientsIn(const torch::Tensor& buffer) const {
    return buffer.narrow(0, 0, buffer.numel() - num_extra_);
  }
  torch::Tensor ExtrasIn(const torch::Tensor& buffer) const {
    return buffer.narrow(0, buffer.numel() - num_extra_, num_extra_);
  }

  torch::Tensor flat_;       // f32 [gradients + extras] in the host's memory
  torch::Tensor on_device_;  // f32 [gradients + extras]; undefined if the parameters' gradients are views of flat_
  int64_t num_extra_;
};

}  // namespace espalier::trainer
