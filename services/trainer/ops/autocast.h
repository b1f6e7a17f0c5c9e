// Mixed precision: the layers' matrix products in BF16, everything else in F32.
#pragma once

#include <torch/torch.h>

#include "services/job/dist_training.h"

namespace espalier::trainer {

// While a scope with Precision::kBf16 is alive, operations of torch on its thread and type of device follow torch's
// autocast: matrix products (mm, addmm, linear, matmul and others) convert F32 operands to BF16 and return BF16, with
// sums in F32. The backward passes of these products are in BF16 too; they run outside of the scope, as torch requires.
// A scope with Precision::kF32 changes nothing. Must be destroyed on the thread that created it; scopes may be nested.
class AutocastScope {
 public:
  AutocastScope(job::Precision precision, torch::DeviceType device);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  const bool is_active_;
  const torch::DeviceType device_;
  bool was_enabled_ = false;
  torch::ScalarType dtype_before_ = torch::kFloat32;
};

// Returns the rows in F32; returns x itself if it is F32, without an operation recorded for gradients. Layers apply it
// to the result of every matrix product, so that sums over neighbors, normalization, activations and losses are in F32.
inline torch::Tensor ToF32(const torch::Tensor& x) { return x.to(torch::kFloat32); }

}  // namespace espalier::trainer
