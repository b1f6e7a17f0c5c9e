#include "services/kernels/first_values.h"

#include <algorithm>
#include <array>

#include "services/base/normal_pair.h"
#include "services/base/philox.h"
#include "services/base/random_purpose.h"

namespace espalier::kernels {
namespace {

PhiloxStream MakeStream(uint64_t seed, const std::string& name) {
  return PhiloxStream(RandomKey(seed, RandomPurpose::kInitialization, Hash64(name)), 0);
}

}  // namespace

void FillUniform(std::span<float> values, double bound, uint64_t seed, const std::string& name) {
  PhiloxStream random = MakeStream(seed, name);
  for (float& value : values) {
    value = static_cast<float>((2.0 * static_cast<double>(random.NextUnitFloat()) - 1.0) * bound);
  }
}

void FillNormal(std::span<float> values, double deviation, uint64_t seed, const std::string& name) {
  PhiloxStream random = MakeStream(seed, name);
  for (size_t i = 0; i < values.size(); i += 2) {
    const uint32_t first = random.Next();
    const std::array<double, 2> pair = NormalPair(first, random.Next());
    for (size_t j = i; j < std::min(values.size(), i + 2); ++j) {
      values[j] = static_cast<float>(deviation * pair[j - i]);
    }
  }
}

}  // namespace espalier::kernels
