#include "services/trainer/optim/flat_gradients.h"

#include "services/base/check.h"

namespace espalier::trainer {

FlatGradients::FlatGradients(const NamedTensors& parameters, int64_t num_extra) : num_extra_(num_extra) {
  int64_t total = num_extra;
  for (const auto& [name, parameter] : parameters) total += parameter.numel();
  flat_ = torch::zeros({total}, torch::kFloat32);
  int64_t next = 0;
  for (const auto& [name, parameter] : parameters) {
    ESPALIER_CHECK(parameter.scalar_type() == torch::kFloat32) << name;
    torch::Tensor shared = parameter;
    shared.mutable_grad() = flat_.narrow(0, next, parameter.numel()).view(parameter.sizes());
    next += parameter.numel();
  }
}

void FlatGradients::Clear() { flat_.zero_(); }

std::span<float> FlatGradients::values() { return {flat_.data_ptr<float>(), static_cast<size_t>(flat_.numel())}; }

std::span<float> FlatGradients::extra_values() { return values().last(static_cast<size_t>(num_extra_)); }

}  // namespace espalier::trainer
