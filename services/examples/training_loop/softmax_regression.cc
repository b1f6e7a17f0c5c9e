#include "softmax_regression.h"

#include <algorithm>
#include <cmath>

namespace example {

SoftmaxRegression::SoftmaxRegression(int64_t num_features, int64_t num_classes)
    : num_features_(static_cast<size_t>(num_features)),
      num_classes_(static_cast<size_t>(num_classes)),
      width_(2 * num_features_ + 1),
      weights_(num_classes_ * width_) {}

std::vector<double> SoftmaxRegression::MakeInput(const Batch& batch, uint32_t seed) const {
  const auto features = batch.features.values<float>();
  const espalier::sampler::Block& block = batch.blocks.layers[0].blocks[0];
  std::vector<double> input(width_);
  for (size_t f = 0; f < num_features_; ++f) input[f] = features[seed * num_features_ + f];
  const uint32_t begin = block.indptr[seed], end = block.indptr[seed + 1];
  for (uint32_t edge = begin; edge < end; ++edge) {
    const size_t row = block.indices[edge];
    for (size_t f = 0; f < num_features_; ++f) {
      input[num_features_ + f] += features[row * num_features_ + f] / static_cast<double>(end - begin);
    }
  }
  input.back() = 1;
  return input;
}

Sums SoftmaxRegression::ComputeSums(const Batch& batch) const {
  Sums sums{std::vector<double>(weights_.size() + 2)};
  const auto labels = batch.labels.values<int64_t>();
  std::vector<double> probability(num_classes_);
  for (uint32_t seed = 0; seed < batch.blocks.num_seeds; ++seed) {
    const std::vector<double> input = MakeInput(batch, seed);
    for (size_t c = 0; c < num_classes_; ++c) {
      double logit = 0;
      for (size_t i = 0; i < width_; ++i) logit += weights_[c * width_ + i] * input[i];
      probability[c] = logit;
    }
    const auto best = std::max_element(probability.begin(), probability.end());
    const double largest = *best;
    const auto label = static_cast<size_t>(labels[seed]);
    const bool is_correct = static_cast<size_t>(best - probability.begin()) == label;
    double total = 0;
    for (double& p : probability) total += p = std::exp(p - largest);
    for (size_t c = 0; c < num_classes_; ++c) {
      const double error = probability[c] / total - (c == label ? 1 : 0);
      for (size_t i = 0; i < width_; ++i) sums.values[c * width_ + i] += error * input[i];
    }
    sums.values[weights_.size()] -= std::log(probability[label] / total);
    sums.values.back() += is_correct ? 1 : 0;
  }
  return sums;
}

void SoftmaxRegression::Step(const Sums& sums, double num_seeds, double learning_rate) {
  for (size_t i = 0; i < weights_.size(); ++i) weights_[i] -= learning_rate * sums.values[i] / num_seeds;
}

}  // namespace example
