#include "services/shard/tensor_initializer.h"

#include <array>
#include <cmath>
#include <cstring>

#include "services/base/check.h"
#include "services/base/hash.h"
#include "services/base/normal_pair.h"
#include "services/base/philox.h"
#include "services/base/random_purpose.h"
#include "services/shard/element_kernels.h"

namespace espalier::shard {
namespace {

using sampler::Initializer;

// Four elements of a row are made from one block of four random words.
using ValuesOfBlock = std::array<double, 4>;

ValuesOfBlock UniformValues(const std::array<uint32_t, 4>& words, double low, double high) {
  ValuesOfBlock values;
  for (size_t i = 0; i < 4; ++i) values[i] = low + (high - low) * (words[i] * 0x1p-32);
  return values;
}

ValuesOfBlock NormalValues(const std::array<uint32_t, 4>& words, double mean, double stddev) {
  ValuesOfBlock values;
  for (size_t i = 0; i < 4; i += 2) {
    const std::array<double, 2> normal = NormalPair(words[i], words[i + 1]);
    values[i] = mean + stddev * normal[0];
    values[i + 1] = mean + stddev * normal[1];
  }
  return values;
}

// Returns the bound of the uniform distribution, with the fans of torch.nn.init: the first dimension of the tensor is
// "out", the second is "in", and the remaining ones multiply both.
double XavierBound(const sampler::TensorSpec& spec, uint64_t num_rows, double gain) {
  double receptive_field = 1;
  for (size_t i = 1; i < spec.row_shape.size(); ++i) receptive_field *= static_cast<double>(spec.row_shape[i]);
  const double fan_in = static_cast<double>(spec.row_shape[0]) * receptive_field;
  const double fan_out = static_cast<double>(num_rows) * receptive_field;
  return fan_in + fan_out > 0 ? gain * std::sqrt(6.0 / (fan_in + fan_out)) : 0.0;
}

// Returns the random key of the tensor's values.
uint64_t ToKey(const sampler::TensorSpec& spec, const graph::PartitionBook& book) {
  const std::string& stream = spec.initializer.stream.empty() ? spec.id.name : spec.initializer.stream;
  const uint64_t rows = Hash64(RowsName(spec.id.rows, book));
  return RandomKey(spec.initializer.seed, RandomPurpose::kTensorRows, HashCombine(rows, Hash64(stream)));
}

// Sets each group of four elements of a row to values_of(four random words).
template <class Values>
void FillRandom(const sampler::TensorSpec& spec, uint64_t key, const std::function<uint64_t(uint64_t)>& original_id,
                uint64_t num_rows, std::byte* rows, Values values_of) {
  const uint64_t row_elements = sampler::RowElements(spec.row_shape);
  if (row_elements == 0) return;  // rows without values
  const size_t element_bytes = ItemSize(spec.dtype);
  for (uint64_t row = 0; row < num_rows; ++row) {
    const uint64_t original = original_id(row);
    for (uint64_t first = 0; first < row_elements; first += 4) {
      const ValuesOfBlock values = values_of(Philox4x32(key, first / 4, original));
      for (uint64_t i = first; i < row_elements && i < first + 4; ++i) {
        StoreElement(spec.dtype, values[i - first], rows + (row * row_elements + i) * element_bytes);
      }
    }
  }
}

}  // namespace

bool NeedsOriginalIds(const Initializer& initializer) {
  return initializer.kind != Initializer::Kind::kZeros && initializer.kind != Initializer::Kind::kConstant;
}

void FillRows(const sampler::TensorSpec& spec, const graph::PartitionBook& book,
              const std::function<uint64_t(uint64_t row)>& original_id, uint64_t num_rows, std::byte* rows) {
  const Initializer& initializer = spec.initializer;
  ESPALIER_CHECK(initializer.kind != Initializer::Kind::kPlugin) << "for a plugin's initializer, call FillByPlugin";
  const uint64_t key = ToKey(spec, book);
  const auto uniform = [&](double low, double high) {
    FillRandom(spec, key, original_id, num_rows, rows,
               [=](const std::array<uint32_t, 4>& words) { return UniformValues(words, low, high); });
  };
  switch (initializer.kind) {
    case Initializer::Kind::kZeros: return;
    case Initializer::Kind::kConstant: {
      const size_t element_bytes = ItemSize(spec.dtype);
      const uint64_t num_elements = num_rows * sampler::RowElements(spec.row_shape);
      for (uint64_t i = 0; i < num_elements; ++i) StoreElement(spec.dtype, initializer.value, rows + i * element_bytes);
      return;
    }
    case Initializer::Kind::kUniform: return uniform(initializer.low, initializer.high);
    case Initializer::Kind::kNormal:
      return FillRandom(spec, key, original_id, num_rows, rows, [&](const std::array<uint32_t, 4>& words) {
        return NormalValues(words, initializer.mean, initializer.stddev);
      });
    case Initializer::Kind::kXavierUniform: {
      const double bound = XavierBound(spec, FirstRows(spec.id.rows, book).back(), initializer.gain);
      return uniform(-bound, bound);
    }
    case Initializer::Kind::kPlugin: break;
  }
}

}  // namespace espalier::shard
