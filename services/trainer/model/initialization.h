// Initial values of parameters, a function of seed and name (kernels/first_values.h). All tensors are contiguous f32
// (checked).
#pragma once

#include <torch/torch.h>

#include <string>

namespace espalier::trainer {

// Fills with uniform numbers in (-bound, bound), bound = gain * sqrt(6 / (fan_in + fan_out)) (Glorot, Bengio 2010).
// Matrices are [fan_out, fan_in], as in torch's Linear.
void FillXavierUniform(torch::Tensor matrix, double gain, uint64_t seed, const std::string& name);
// Fills with normal numbers of mean 0 and standard deviation gain * sqrt(2 / (fan_in + fan_out)), as torch's
// xavier_normal_.
void FillXavierNormal(torch::Tensor matrix, double gain, uint64_t seed, const std::string& name);
void FillNormal(torch::Tensor values, double deviation, uint64_t seed, const std::string& name);
void FillUniform(torch::Tensor values, double bound, uint64_t seed, const std::string& name);

// torch's calculate_gain("relu").
inline constexpr double kReluGain = 1.4142135623730951;

}  // namespace espalier::trainer
