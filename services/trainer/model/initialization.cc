#include "services/trainer/model/initialization.h"

#include <cmath>
#include <span>

#include "services/base/check.h"
#include "services/kernels/first_values.h"

namespace espalier::trainer {
namespace {

std::span<float> ToSpan(const torch::Tensor& tensor) {
  ESPALIER_CHECK(tensor.is_contiguous() && tensor.scalar_type() == torch::kFloat32);
  return {tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

}  // namespace

void FillUniform(torch::Tensor values, double bound, uint64_t seed, const std::string& name) {
  kernels::FillUniform(ToSpan(values), bound, seed, name);
}

void FillNormal(torch::Tensor values, double deviation, uint64_t seed, const std::string& name) {
  kernels::FillNormal(ToSpan(values), deviation, seed, name);
}

void FillXavierNormal(torch::Tensor matrix, double gain, uint64_t seed, const std::string& name) {
  ESPALIER_CHECK(matrix.dim() == 2);
  const auto fans = static_cast<double>(matrix.size(0) + matrix.size(1));
  FillNormal(matrix, gain * std::sqrt(2.0 / fans), seed, name);
}

void FillXavierUniform(torch::Tensor matrix, double gain, uint64_t seed, const std::string& name) {
  ESPALIER_CHECK(matrix.dim() == 2);
  const auto fans = static_cast<double>(matrix.size(0) + matrix.size(1));
  FillUniform(matrix, gain * std::sqrt(6.0 / fans), seed, name);
}

}  // namespace espalier::trainer
