#include "services/trainer/model/initialization.h"

#include <array>
#include <cmath>

#include "services/base/check.h"
#include "services/base/normal_pair.h"
#include "services/base/philox.h"
#include "services/base/random_purpose.h"

namespace espalier::trainer {

void FillUniform(torch::Tensor values, double bound, uint64_t seed, const std::string& name) {
  ESPALIER_CHECK(values.is_contiguous() && values.scalar_type() == torch::kFloat32);
  PhiloxStream random(RandomKey(seed, RandomPurpose::kInitialization, Hash64(name)), 0);
  auto* out = values.data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    out[i] = static_cast<float>((2.0 * static_cast<double>(random.NextUnitFloat()) - 1.0) * bound);
  }
}

void FillNormal(torch::Tensor values, double deviation, uint64_t seed, const std::string& name) {
  ESPALIER_CHECK(values.is_contiguous() && values.scalar_type() == torch::kFloat32);
  PhiloxStream random(RandomKey(seed, RandomPurpose::kInitialization, Hash64(name)), 0);
  auto* out = values.data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); i += 2) {
    const uint32_t first = random.Next();
    const std::array<double, 2> pair = NormalPair(first, random.Next());
    for (int64_t j = i; j < values.numel() && j < i + 2; ++j) {
      out[j] = static_cast<float>(deviation * pair[static_cast<size_t>(j - i)]);
    }
  }
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
