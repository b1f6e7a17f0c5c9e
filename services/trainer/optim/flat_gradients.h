// All gradients of a model in one buffer, so that one call all-reduces them: every parameter's grad() is a view of the
// buffer, and backward passes add to it in place. On the CPU nothing is copied. The gradients of a model on another
// device are either all-reduced on that device, or copied to the host, all-reduced there and copied back.
#pragma once

#include <torch/torch.h>

#include <span>
#include <vector>

#include "services/collective/collective.h"
#include "services/trainer/optim/optimizers.h"

namespace espalier::trainer {

// Owned by one thread. The grad() tensors of the parameters must not be replaced while this object exists.
class FlatGradients {
 public:
  // After the gradients, the buffer has `num_extra` more floats, the extras, for values that the caller adds to the
  // same all-reduce. Parameters are f32 and all on one device (checked).
  FlatGradients(const NamedTensors& parameters, int64_t num_extra);

  // Sets gradients and extras to zero.
  void Clear();
  // Replaces gradients and extras by their sums over all ranks, on the device if is_on_device() and
  // collective.SumsOnDevice(), otherwise on the host. Throws c10::Error if a copy fails. After an error the values are
  // undefined.
  Status AllReduce(collective::Collective& collective, Deadline deadline);
  // Returns the gradients in the order of the parameters, then the extras, in the host's memory. The caller may change
  // them. CopyToDevice copies the gradients back to the parameters' device. On the CPU, neither function copies.
  std::span<float> CopyToHost();
  void CopyToDevice();
  // Returns the extras, in the host's memory.
  std::span<float> extra_values();

  // Returns whether the gradients are on a device other than the CPU.
  bool is_on_device() const { return on_device_.defined(); }
  // Copies the extras to the device and returns the device's buffer, f32 [gradients + extras]. The caller may change
  // the buffer in place. CopyExtrasToHost copies the buffer's extras to extra_values(). Call these functions only if
  // is_on_device().
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
