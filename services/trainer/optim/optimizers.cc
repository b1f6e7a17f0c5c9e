// The formulas are those of torch.optim, with bias correction and epsilon in the same places. On the CPU, each
// parameter is updated in one loop over its elements instead of one torch operation per term; the functions ...ByTorch
// update parameters on other devices. State and LoadState share one order of tensors: the step, then for each parameter
// the first and the second moment (Adam) or the velocity (SGD with momentum).
#include "services/trainer/optim/optimizers.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "services/base/check.h"
#include "services/trainer/ops/op_path.h"

namespace espalier::trainer {
namespace {

// The defaults of torch.
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;

constexpr const char* kStepName = "step";
constexpr const char* kFirstMoment = "moment1.";
constexpr const char* kSecondMoment = "moment2.";
constexpr const char* kVelocity = "velocity.";

bool IsAdam(const job::Optimizer& options) {
  return options.type == job::OptimizerType::kAdam || options.type == job::OptimizerType::kAdamW;
}

torch::Tensor CopyToHost(const torch::Tensor& tensor) {
  return tensor.to(torch::kCPU, /*non_blocking=*/false, /*copy=*/true);
}

}  // namespace

Optimizer::Optimizer(const job::Optimizer& options, NamedTensors parameters) : options_(options) {
  for (auto& [name, parameter] : parameters) {
    ESPALIER_CHECK(parameter.is_contiguous() && parameter.scalar_type() == torch::kFloat32) << name;
    Slot slot{name, parameter, {}, {}};
    if (IsAdam(options) || options.momentum != 0) slot.first = torch::zeros(parameter.sizes(), parameter.device());
    if (IsAdam(options)) slot.second = torch::zeros(parameter.sizes(), parameter.device());
    slots_.push_back(std::move(slot));
  }
}

void Optimizer::Step(double learning_rate) {
  torch::NoGradGuard no_gradient;
  ++step_;
  for (Slot& slot : slots_) {
    const torch::Tensor gradient = slot.parameter.grad().defined()
                                       ? slot.parameter.grad().contiguous()
                                       : torch::zeros(slot.parameter.sizes(), slot.parameter.device());
    const bool by_kernels = UsesCpuKernels(slot.parameter);
    if (IsAdam(options_)) {
      by_kernels ? StepAdam(slot, gradient, learning_rate) : StepAdamByTorch(slot, gradient, learning_rate);
    } else {
      by_kernels ? StepSgd(slot, gradient, learning_rate) : StepSgdByTorch(slot, gradient, learning_rate);
    }
  }
}

void Optimizer::StepAdam(Slot& slot, const torch::Tensor& gradient, double learning_rate) const {
  const double correction1 = 1.0 - std::pow(kBeta1, static_cast<double>(step_));
  const double correction2 = 1.0 - std::pow(kBeta2, static_cast<double>(step_));
  const auto rate = static_cast<float>(learning_rate / correction1);
  const auto root_correction = static_cast<float>(std::sqrt(correction2));
  const bool decoupled = options_.type == job::OptimizerType::kAdamW;
  const auto decay = static_cast<float>(decoupled ? 0.0 : options_.weight_decay);
  const auto shrink = static_cast<float>(decoupled ? 1.0 - learning_rate * options_.weight_decay : 1.0);
  constexpr auto beta1 = static_cast<float>(kBeta1), beta2 = static_cast<float>(kBeta2);
  constexpr auto rest1 = static_cast<float>(1 - kBeta1), rest2 = static_cast<float>(1 - kBeta2);

  auto* __restrict w = slot.parameter.data_ptr<float>();
  auto* __restrict m = slot.first.data_ptr<float>();
  auto* __restrict v = slot.second.data_ptr<float>();
  const auto* __restrict g = gradient.data_ptr<float>();
  for (int64_t i = 0; i < gradient.numel(); ++i) {
    const float slope = g[i] + decay * w[i];
    m[i] = beta1 * m[i] + rest1 * slope;
    v[i] = beta2 * v[i] + rest2 * slope * slope;
    w[i] = shrink * w[i] - rate * m[i] / (std::sqrt(v[i]) / root_correction + static_cast<float>(kEpsilon));
  }
}

void Optimizer::StepSgd(Slot& slot, const torch::Tensor& gradient, double learning_rate) const {
  const auto rate = static_cast<float>(learning_rate), decay = static_cast<float>(options_.weight_decay);
  const auto momentum = static_cast<float>(options_.momentum);
  auto* __restrict w = slot.parameter.data_ptr<float>();
  const auto* __restrict g = gradient.data_ptr<float>();
  if (!slot.first.defined()) {
    for (int64_t i = 0; i < gradient.numel(); ++i) w[i] -= rate * (g[i] + decay * w[i]);
    return;
  }
  auto* __restrict velocity = slot.first.data_ptr<float>();
  for (int64_t i = 0; i < gradient.numel(); ++i) {
    velocity[i] = momentum * velocity[i] + (g[i] + decay * w[i]);
    w[i] -= rate * velocity[i];
  }
}

void Optimizer::StepAdamByTorch(Slot& slot, const torch::Tensor& gradient, double learning_rate) const {
  const double correction1 = 1.0 - std::pow(kBeta1, static_cast<double>(step_));
  const double correction2 = 1.0 - std::pow(kBeta2, static_cast<double>(step_));
  const bool decoupled = options_.type == job::OptimizerType::kAdamW;
  torch::Tensor slope = gradient;
  if (!decoupled && options_.weight_decay != 0) slope = slope + slot.parameter * options_.weight_decay;
  slot.first.mul_(kBeta1).add_(slope, 1 - kBeta1);
  slot.second.mul_(kBeta2).addcmul_(slope, slope, 1 - kBeta2);
  if (decoupled) slot.parameter.mul_(1.0 - learning_rate * options_.weight_decay);
  const torch::Tensor divisor = slot.second.sqrt().div_(std::sqrt(correction2)).add_(kEpsilon);
  slot.parameter.addcdiv_(slot.first, divisor, -learning_rate / correction1);
}

void Optimizer::StepSgdByTorch(Slot& slot, const torch::Tensor& gradient, double learning_rate) const {
  torch::Tensor slope = gradient;
  if (options_.weight_decay != 0) slope = slope + slot.parameter * options_.weight_decay;
  if (slot.first.defined()) slope = slot.first.mul_(options_.momentum).add_(slope);
  slot.parameter.sub_(slope, learning_rate);
}

NamedTensors Optimizer::State() const {
  NamedTensors state = {{kStepName, torch::full({1}, step_, torch::kInt64)}};
  for (const Slot& slot : slots_) {
    if (slot.first.defined())
      state.emplace_back((IsAdam(options_) ? kFirstMoment : kVelocity) + slot.name, CopyToHost(slot.first));
    if (slot.second.defined()) state.emplace_back(kSecondMoment + slot.name, CopyToHost(slot.second));
  }
  return state;
}

Status Optimizer::LoadState(const NamedTensors& state) {
  const NamedTensors expected = State();
  NamedTensors found;
  for (const auto& [name, mine] : expected) {
    const auto given = std::ranges::find(state, name, &NamedTensors::value_type::first);
    if (given == state.end()) return InvalidArgument("optimizer state: '" + name + "' is missing");
    if (given->second.sizes() != mine.sizes() || given->second.scalar_type() != mine.scalar_type()) {
      std::ostringstream difference;
      difference << given->second.dtype() << " " << given->second.sizes() << ", expected " << mine.dtype() << " "
                 << mine.sizes();
      return InvalidArgument("optimizer state: '" + name + "' is " + difference.str());
    }
    found.push_back(*given);
  }
  if (state.size() != expected.size()) {
    return InvalidArgument("optimizer state: " + std::to_string(state.size()) + " tensors, expected " +
                           std::to_string(expected.size()));
  }
  torch::NoGradGuard no_gradient;
  size_t next = 0;
  step_ = found[next++].second.item<int64_t>();
  for (Slot& slot : slots_) {
    if (slot.first.defined()) slot.first.copy_(found[next++].second);
    if (slot.second.defined()) slot.second.copy_(found[next++].second);
  }
  return {};
}

}  // namespace espalier::trainer
