// Products of matrices in F32, by oneDNN on CPUs.
#pragma once

#include <torch/torch.h>

namespace espalier::trainer {

// Returns a @ b + bias, with gradients: a [m, k], b [k, n], bias [n] or undefined, to [m, n]. Only first derivatives
// are supported. On a CPU outside of autocast, F32 operands are multiplied by oneDNN, which comes in libtorch and is as
// fast on AMD processors as on Intel's; torch::mm would use oneMKL. For equal operands, thread count and instruction
// set, the bits are equal, wherever the operands lie in memory. Other operands are multiplied by torch::mm or
// torch::addmm. `b` is copied unless its rows are contiguous. Throws c10::Error if the shapes do not fit.
torch::Tensor MatMul(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& bias = {});

}  // namespace espalier::trainer
