// The loops are written for the vectorizer; release builds compile this library with -O3. This file is also compiled
// with -fno-math-errno (CMakeLists.txt), because with math errno a square root is a function call.
#include "services/shard/row_update.h"

#include <array>
#include <cmath>

#include "services/base/check.h"

namespace espalier::shard {
namespace {

using sampler::SparseOptimizerType;

bool IsAdam(SparseOptimizerType type) {
  return type == SparseOptimizerType::kAdam || type == SparseOptimizerType::kAdamW;
}

}  // namespace

float InitialState(const sampler::SparseOptimizer& optimizer) {
  const bool accumulates =
      optimizer.type == SparseOptimizerType::kAdagrad || optimizer.type == SparseOptimizerType::kRowWiseAdagrad;
  return accumulates ? static_cast<float>(optimizer.initial_accumulator) : 0.0f;
}

RowUpdate::RowUpdate(const sampler::SparseOptimizer& optimizer, size_t width, double learning_rate, uint64_t step)
    : type_(optimizer.type), width_(width) {
  ESPALIER_CHECK(step > 0) << "steps count from 1";
  const bool decoupled = type_ == SparseOptimizerType::kAdamW;
  decay_ = static_cast<float>(decoupled ? 0.0 : optimizer.weight_decay);
  shrink_ = static_cast<float>(decoupled ? 1.0 - learning_rate * optimizer.weight_decay : 1.0);
  epsilon_ = static_cast<float>(sampler::EpsilonFor(optimizer));
  rate_ = static_cast<float>(learning_rate);
  if (!IsAdam(type_)) return;
  const auto steps = static_cast<double>(step);
  rate_ = static_cast<float>(learning_rate / (1.0 - std::pow(optimizer.beta1, steps)));
  root_correction_ = static_cast<float>(std::sqrt(1.0 - std::pow(optimizer.beta2, steps)));
  beta1_ = static_cast<float>(optimizer.beta1);
  beta2_ = static_cast<float>(optimizer.beta2);
  rest1_ = static_cast<float>(1.0 - optimizer.beta1);
  rest2_ = static_cast<float>(1.0 - optimizer.beta2);
}

void RowUpdate::Apply(float* weights, float* state, const float* gradient) const {
  switch (type_) {
    case SparseOptimizerType::kSgd: return Sgd(weights, gradient);
    case SparseOptimizerType::kAdagrad: return Adagrad(weights, state, gradient);
    case SparseOptimizerType::kRowWiseAdagrad: return RowWiseAdagrad(weights, state, gradient);
    case SparseOptimizerType::kAdam:
    case SparseOptimizerType::kAdamW: return Adam(weights, state, gradient);
  }
}

void RowUpdate::Sgd(float* __restrict w, const float* __restrict gradient) const {
  const float rate = rate_, decay = decay_;
  for (size_t i = 0; i < width_; ++i) w[i] -= rate * (gradient[i] + decay * w[i]);
}

void RowUpdate::Adagrad(float* __restrict w, float* __restrict sum, const float* __restrict gradient) const {
  const float rate = rate_, decay = decay_, epsilon = epsilon_;
  for (size_t i = 0; i < width_; ++i) {
    const float slope = gradient[i] + decay * w[i];
    const float squares = sum[i] + slope * slope;
    sum[i] = squares;
    w[i] -= rate * slope / (std::sqrt(squares) + epsilon);
  }
}

void RowUpdate::RowWiseAdagrad(float* __restrict w, float* __restrict state, const float* __restrict gradient) const {
  const float decay = decay_;
  // Eight partial sums: the order of additions is fixed and the loop still vectorizes.
  constexpr size_t kLanes = 8;
  std::array<float, kLanes> lanes{};
  const size_t whole = width_ - width_ % kLanes;
  const auto square = [&](size_t i) {
    const float slope = gradient[i] + decay * w[i];
    return slope * slope;
  };
  for (size_t first = 0; first < whole; first += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += square(first + lane);
  }
  for (size_t i = whole; i < width_; ++i) lanes[i - whole] += square(i);
  float squares = 0;
  for (const float lane : lanes) squares += lane;

  state[0] += squares / static_cast<float>(width_);
  const float rate = rate_ / (std::sqrt(state[0]) + epsilon_);
  for (size_t i = 0; i < width_; ++i) w[i] -= rate * (gradient[i] + decay * w[i]);
}

void RowUpdate::Adam(float* __restrict w, float* __restrict state, const float* __restrict gradient) const {
  const float rate = rate_, decay = decay_, shrink = shrink_, epsilon = epsilon_, root_correction = root_correction_;
  const float beta1 = beta1_, beta2 = beta2_, rest1 = rest1_, rest2 = rest2_;
  float* __restrict m = state;
  float* __restrict v = state + width_;
  for (size_t i = 0; i < width_; ++i) {
    const float slope = gradient[i] + decay * w[i];
    const float first = beta1 * m[i] + rest1 * slope;
    const float second = beta2 * v[i] + rest2 * slope * slope;
    m[i] = first;
    v[i] = second;
    w[i] = shrink * w[i] - rate * first / (std::sqrt(second) / root_correction + epsilon);
  }
}

}  // namespace espalier::shard
