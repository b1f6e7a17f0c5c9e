// Matrix products with gradients, computed by oneDNN where MatMul can use it.
#pragma once

#include <torch/torch.h>

namespace espalier::trainer {

// Returns a @ b + bias, with gradients: a [m, k], b [k, n], bias [n] or undefined -> [m, n]. Callers can rely on first
// derivatives only. On a CPU outside of autocast, F32 operands are multiplied by oneDNN, which is part of libtorch: on
// an AMD EPYC with AVX-512 it is 2.4 times as fast as oneMKL, which torch::mm uses. For equal operands, thread count
// and instruction set, its results are bitwise equal, whatever the memory addresses. Other operands, and all operands
// if HasOneDnn() is false, are multiplied by torch::mm or torch::addmm. For oneDNN, operands that are not contiguous
// are copied. Throws c10::Error if the shapes do not fit, or if a gradient of oneDNN's product is computed with
// create_graph.
torch::Tensor MatMul(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& bias = {});

// Returns whether this libtorch has the operation that calls oneDNN.
bool HasOneDnn();

}  // namespace espalier::trainer
