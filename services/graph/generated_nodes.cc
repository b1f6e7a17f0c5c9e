// Features and labels are computed in parallel over the ranks of nodes (ShuffleNodeIds) and stored in the row of the
// node's ID. The counter of Philox contains the ID of the node for noise, and the class for class vectors.
#include "services/graph/generated_nodes.h"

#include <algorithm>
#include <array>
#include <limits>

#include "services/base/parallel.h"
#include "services/base/permutation.h"
#include "services/base/philox.h"

namespace espalier::graph {
namespace {

constexpr int64_t kNodeGrain = 1 << 12;
constexpr uint64_t kMaxNodes = std::numeric_limits<uint32_t>::max();

// Returns noise of mean 0 and variance 1. The sum of four bytes is nearly normal and the same on every machine: its
// mean is 510, its variance (256^2 - 1) / 3.
float ToNoise(uint32_t word) {
  const uint32_t sum = (word & 0xFF) + ((word >> 8) & 0xFF) + ((word >> 16) & 0xFF) + (word >> 24);
  return (static_cast<float>(sum) - 510.0f) * (1.0f / 147.8005f);
}

// Fills `values` with row `row` of an infinite table of noise.
void FillNoise(uint64_t key, uint64_t row, std::vector<float>& values) {
  for (size_t j = 0; j < values.size(); j += 4) {
    const std::array<uint32_t, 4> words = Philox4x32(key, j / 4, row);
    for (size_t k = j; k < std::min(j + 4, values.size()); ++k) values[k] = ToNoise(words[k - j]);
  }
}

void StoreRow(const std::vector<float>& values, DType dtype, std::byte* row) {
  if (dtype == DType::kF32) {
    std::copy(values.begin(), values.end(), reinterpret_cast<float*>(row));
    return;
  }
  auto* halves = reinterpret_cast<uint16_t*>(row);
  const auto narrow = dtype == DType::kF16 ? FloatToHalf : FloatToBFloat16;
  std::transform(values.begin(), values.end(), halves, narrow);
}

}  // namespace

std::vector<uint32_t> ShuffleNodeIds(uint64_t key, uint64_t num_nodes, int threads) {
  std::vector<uint32_t> ids(num_nodes);
  const Permutation permutation(key, num_nodes);
  ParallelFor(threads, static_cast<int64_t>(num_nodes), kNodeGrain, [&](int64_t begin, int64_t end) {
    for (auto r = static_cast<size_t>(begin); r < static_cast<size_t>(end); ++r) {
      ids[r] = static_cast<uint32_t>(permutation.At(r));
    }
  });
  return ids;
}

uint64_t ComputeFeatureBytes(uint64_t num_nodes, const FeatureOptions& options) {
  return num_nodes * static_cast<uint64_t>(options.width) * ItemSize(options.dtype);
}

Tensor GenerateFeatures(const NodeClasses& classes, const FeatureOptions& options, uint64_t seed, int threads,
                        WorkMeter* meter) {
  const auto num_nodes = static_cast<int64_t>(classes.ids.size());
  Tensor features = Tensor::Zeros(options.dtype, {num_nodes, options.width});
  std::byte* bytes = features.mutable_bytes();
  const size_t row_bytes = features.row_bytes();
  const uint64_t noise_key = GeneratorKey(seed, GeneratorStream::kFeatureNoise, classes.type);
  // All node types share the class vectors, so nodes of one class have similar features in every type.
  const uint64_t class_key = GeneratorKey(seed, GeneratorStream::kClassVectors, 0);
  const auto signal = static_cast<float>(options.signal);
  ParallelFor(threads, num_nodes, kNodeGrain, [&](int64_t begin, int64_t end) {
    std::vector<float> noise(static_cast<size_t>(options.width)), class_vector(noise.size());
    for (auto r = static_cast<size_t>(begin); r < static_cast<size_t>(end); ++r) {
      const size_t id = classes.ids[r];
      FillNoise(class_key, classes.class_of_rank(r), class_vector);
      FillNoise(noise_key, id, noise);
      for (size_t j = 0; j < noise.size(); ++j) noise[j] += signal * class_vector[j];
      StoreRow(noise, options.dtype, bytes + id * row_bytes);
    }
    AddDone(meter, static_cast<uint64_t>(end - begin) * row_bytes);
  });
  return features;
}

Tensor GenerateLabels(const NodeClasses& classes, int64_t num_classes, double noise, uint64_t seed, int threads) {
  const auto num_nodes = static_cast<int64_t>(classes.ids.size());
  Tensor labels = Tensor::Zeros(DType::kI64, {num_nodes});
  const std::span<int64_t> values = labels.mutable_values<int64_t>();
  const uint64_t key = GeneratorKey(seed, GeneratorStream::kLabelNoise, classes.type);
  ParallelFor(threads, num_nodes, kNodeGrain, [&](int64_t begin, int64_t end) {
    for (auto r = static_cast<size_t>(begin); r < static_cast<size_t>(end); ++r) {
      const size_t id = classes.ids[r];
      const std::array<uint32_t, 4> words = Philox4x32(key, id, 0);
      const bool is_noise = UnitDouble(words[0], words[1]) < noise;
      values[id] = is_noise ? static_cast<int64_t>(BoundedDraw(words[2], static_cast<uint32_t>(num_classes)))
                            : static_cast<int64_t>(classes.class_of_rank(r));
    }
  });
  return labels;
}

NodeSplit GenerateSplit(uint64_t num_nodes, const SplitFractions& fractions, uint64_t seed, uint64_t type,
                        int threads) {
  const auto part_size = [num_nodes](double fraction) {
    return static_cast<uint64_t>(fraction * static_cast<double>(num_nodes));
  };
  const uint64_t train_end = part_size(fractions.train);
  const uint64_t validation_end = std::min(num_nodes, train_end + part_size(fractions.validation));
  const uint64_t test_end = std::min(num_nodes, validation_end + part_size(fractions.test));

  // The split takes the beginning of a random order, so its parts have exactly the requested sizes.
  const Permutation order(GeneratorKey(seed, GeneratorStream::kSplit, type), num_nodes);
  std::vector<uint8_t> part(num_nodes);  // 0: none
  ParallelFor(threads, static_cast<int64_t>(num_nodes), kNodeGrain, [&](int64_t begin, int64_t end) {
    for (auto id = static_cast<size_t>(begin); id < static_cast<size_t>(end); ++id) {
      const uint64_t position = order.Position(id);
      part[id] = position < train_end ? 1 : position < validation_end ? 2 : position < test_end ? 3 : 0;
    }
  });
  NodeSplit split;
  split.train.reserve(train_end);
  split.validation.reserve(validation_end - train_end);
  split.test.reserve(test_end - validation_end);
  for (uint64_t id = 0; id < num_nodes; ++id) {
    if (part[id] == 1) split.train.push_back(id);
    if (part[id] == 2) split.validation.push_back(id);
    if (part[id] == 3) split.test.push_back(id);
  }
  return split;
}

Status CheckFraction(const std::string& option, double value) {
  if (value >= 0 && value <= 1) return {};
  return InvalidArgument(option + " is " + std::to_string(value) + ": expected 0 to 1");
}

Status CheckFeatureOptions(const FeatureOptions& options) {
  if (options.width < 0 || options.width > (1 << 20)) {
    return InvalidArgument("the feature width is " + std::to_string(options.width) + ": expected 0 to 1048576");
  }
  if (options.dtype != DType::kF32 && options.dtype != DType::kF16 && options.dtype != DType::kBF16) {
    return InvalidArgument(std::string("the feature dtype is ") + ToString(options.dtype) +
                           ": expected F32, F16 or BF16");
  }
  // The limit keeps features within the range of F16, whose largest value is 65504.
  if (!(options.signal >= 0 && options.signal <= 1000)) {
    return InvalidArgument("the feature signal is " + std::to_string(options.signal) + ": expected 0 to 1000");
  }
  return {};
}

Status CheckSplitFractions(const SplitFractions& fractions) {
  RETURN_IF_ERROR(CheckFraction("the train fraction", fractions.train));
  RETURN_IF_ERROR(CheckFraction("the validation fraction", fractions.validation));
  RETURN_IF_ERROR(CheckFraction("the test fraction", fractions.test));
  // The tolerance allows for rounding: 0.33 + 0.56 + 0.11 is slightly more than 1.
  const double sum = fractions.train + fractions.validation + fractions.test;
  return sum < 1 + 1e-9 ? Status() : CheckFraction("the sum of the split's fractions", sum);
}

Status CheckExponent(const std::string& option, double exponent) {
  if (exponent > 2 && exponent <= 100) return {};
  return InvalidArgument(option + " is " + std::to_string(exponent) + ": expected more than 2, at most 100");
}

Status CheckNodeCount(const std::string& option, uint64_t num_nodes) {
  if (num_nodes >= 1 && num_nodes <= kMaxNodes) return {};
  return InvalidArgument(option + " is " + std::to_string(num_nodes) + ": expected 1 to " + std::to_string(kMaxNodes));
}

}  // namespace espalier::graph
