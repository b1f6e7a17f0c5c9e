#include "services/trainer/optim/flat_gradients.h"

#include "services/base/check.h"
#include "services/trainer/ops/op_path.h"

namespace espalier::trainer {

FlatGradients::FlatGradients(const NamedTensors& parameters, int64_t num_extra) : num_extra_(num_extra) {
  int64_t total = num_extra;
  for (const auto& [name, parameter] : parameters) total += parameter.numel();
  flat_ = torch::zeros({total}, torch::kFloat32);
  const bool is_on_host = parameters.empty() || UsesCpuKernels(parameters.front().second);
  if (!is_on_host) on_device_ = torch::zeros({total}, parameters.front().second.device());
  const torch::Tensor& buffer = is_on_host ? flat_ : on_device_;
  int64_t next = 0;
  for (const auto& [name, parameter] : parameters) {
    ESPALIER_CHECK(parameter.scalar_type() == torch::kFloat32) << name;
    ESPALIER_CHECK(parameter.device() == buffer.device()) << name << " is on another device";
    torch::Tensor shared = parameter;
    shared.mutable_grad() = buffer.narrow(0, next, parameter.numel()).view(parameter.sizes());
    next += parameter.numel();
  }
}

void FlatGradients::Clear() {
  flat_.zero_();
  if (on_device_.defined()) on_device_.zero_();
}

Status FlatGradients::AllReduce(collective::Collective& collective, Deadline deadline) {
  if (is_on_device() && collective.SumsOnDevice()) {
    const torch::Tensor values = CopyExtrasToDevice();
    RETURN_IF_ERROR(collective.AllReduceSumOnDevice({values.data_ptr<float>(), static_cast<size_t>(values.numel())},
                                                    std::move(deadline)));
    CopyExtrasToHost();
    return Status();
  }
  RETURN_IF_ERROR(collective.AllReduceSum(CopyToHost(), std::move(deadline)));
  CopyToDevice();
  return Status();
}

std::span<float> FlatGradients::CopyToHost() {
  if (on_device_.defined()) GradientsIn(flat_).copy_(GradientsIn(on_device_));
  return {flat_.data_ptr<float>(), static_cast<size_t>(flat_.numel())};
}

void FlatGradients::CopyToDevice() {
  if (on_device_.defined()) GradientsIn(on_device_).copy_(GradientsIn(flat_));
}

torch::Tensor FlatGradients::CopyExtrasToDevice() {
  ExtrasIn(on_device_).copy_(ExtrasIn(flat_));
  return on_device_;
}

void FlatGradients::CopyExtrasToHost() { ExtrasIn(flat_).copy_(ExtrasIn(on_device_)); }

std::span<float> FlatGradients::extra_values() {
  return std::span(flat_.data_ptr<float>(), static_cast<size_t>(flat_.numel())).last(static_cast<size_t>(num_extra_));
}

}  // namespace espalier::trainer
