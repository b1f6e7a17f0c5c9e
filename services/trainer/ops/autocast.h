// Mixed precision: the layers' matrix products in BF16, everything else in F32.
#pragma once

#include <torch/torch.h>

#include "services/job/dist_training.h"

namespace espalier::trainer {

// While it is alive, operations of torch on this thread and this type of device follow torch's autocast: matrix
// products (mm, addmm, linear, matmul and others) convert F32 operands to BF16 and return BF16, with sums in F32; the
// backward passes of these products are in BF16 too. For Precision::kF32 it changes nothing. Backward passes run
// outside of it, as torch requires. Must be destroyed on the thread that created it; scopes may be nested.
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

// Returns the rows in F32, x itself if it is F32. Applied to the result of every matrix product of a layer, so that
// sums over neighbors, normalization, activations and losses are in F32; in F32 it records no operation for gradients.
inline torch::Tensor ToF32(const torch::Tensor& x) { return x.to(torch::kFloat32); }

}  // namespace espalier::trainer
