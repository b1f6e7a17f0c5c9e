// Mixed precision: the matrix products of layers are computed in BF16, everything else in F32.
#pragma once

#include <torch/torch.h>

#include "services/job/dist_training.h"

namespace espalier::trainer {

// While a scope with Precision::kBf16 is alive, torch's autocast applies to operations on the scope's thread and type
// of device: matrix products (mm, addmm, linear, matmul and others) convert F32 operands to BF16 and return BF16, with
// sums in F32. The backward passes of these products are in BF16 too; the caller runs them outside of the scope, as
// torch recommends. A scope with Precision::kF32 changes nothing. A scope must be destroyed on the thread that created
// it; scopes may be nested.
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

// Returns x in F32. If x is F32, returns x itself and records no operation for autograd. Layers apply this function to
// the result of a matrix product, unless the result is used only in another matrix product. Hence sums over neighbors,
// normalization, activations and losses are in F32.
inline torch::Tensor ToF32(const torch::Tensor& x) { return x.to(torch::kFloat32); }

}  // namespace espalier::trainer
