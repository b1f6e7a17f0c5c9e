// Products of matrices in F32, by oneDNN on CPUs.
#pragma once

#include <torch/torch.h>

namespace espalier::trainer {

// Returns a @ b + bias, with gradients: a [m, k], b [k, n], bias [n] or undefined, to [m, n]. Only first derivatives
// are supported. On a CPU outside of autocast, F32 operands are multiplied by oneDNN, which is part of libtorch: on an
// AMD EPYC with AVX-512 it is 2.4 times as fast as oneMKL, which torch::mm uses. For equal operands, thread count and
// instruction set, results are bitwise equal for any memory address. All others are multiplied by torch::mm or
// torch::addmm, as are all in a libtorch without the operation that calls oneDNN. Operands that are not contiguous are
// copied. Throws c10::Error if the shapes do not fit, or if a gradient is computed with create_graph.
torch::Tensor MatMul(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& bias = {});

// Returns whether this libtorch has the operation that calls oneDNN.
bool HasOneDnn();

}  // namespace espalier::trainer
