// Chooses how an operation is computed: by the kernels for CPUs (services/kernels), or by operations of torch that run
// on every device ("torch path").
#pragma once

#include <torch/torch.h>

namespace espalier::trainer {

// Returns whether the kernels for CPUs compute operations on `x`: it is on the CPU and no TorchPathScope is alive.
bool UsesCpuKernels(const torch::Tensor& x);

// While a TorchPathScope is alive, operations on CPU tensors take the torch path too, on all threads. Tests use it to
// compare both paths on a machine without a GPU.
class TorchPathScope {
 public:
  TorchPathScope();
  ~TorchPathScope();
  TorchPathScope(const TorchPathScope&) = delete;
  TorchPathScope& operator=(const TorchPathScope&) = delete;
};

}  // namespace espalier::trainer
