// Initial values of parameters. They depend only on `seed` and `name` (kernels/first_values.h). All tensors must be
// contiguous f32 on the CPU (dtype and contiguity are checked); the functions write into them.
#pragma once

#include <torch/torch.h>

#include <string>

namespace espalier::trainer {

// Fills a matrix [fan_out, fan_in], the order of torch's Linear, with uniform numbers in [-bound, bound), where
// bound = gain * sqrt(6 / (fan_in + fan_out)) (Glorot, Bengio 2010).
void FillXavierUniform(torch::Tensor matrix, double gain, uint64_t seed, const std::string& name);
// Fills a matrix [fan_out, fan_in] with normal numbers of mean 0 and standard deviation
// gain * sqrt(2 / (fan_in + fan_out)), as torch's xavier_normal_ does.
void FillXavierNormal(torch::Tensor matrix, double gain, uint64_t seed, const std::string& name);
// Fills a tensor of any shape with normal numbers of mean 0 and standard deviation `deviation`.
void FillNormal(torch::Tensor values, double deviation, uint64_t seed, const std::string& name);
// Fills a tensor of any shape with uniform numbers in [-bound, bound).
void FillUniform(torch::Tensor values, double bound, uint64_t seed, const std::string& name);

// torch's calculate_gain("relu").
inline constexpr double kReluGain = 1.4142135623730951;

}  // namespace espalier::trainer
