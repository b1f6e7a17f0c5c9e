#include "services/trainer/model/linear.h"

#include "services/trainer/model/initialization.h"
#include "services/trainer/ops/autocast.h"

namespace espalier::trainer {

LinearImpl::LinearImpl(int64_t inputs, int64_t outputs, Bias bias, double gain, uint64_t seed, const std::string& name,
                       WeightInit init) {
  torch::Tensor weight = torch::empty({outputs, inputs});
  switch (init) {
    case WeightInit::kXavierUniform: FillXavierUniform(weight, gain, seed, name + ".weight"); break;
    case WeightInit::kXavierNormal: FillXavierNormal(weight, gain, seed, name + ".weight"); break;
  }
  weight_ = register_parameter("weight", weight);
  if (bias == Bias::kZeros) bias_ = register_parameter("bias", torch::zeros({outputs}));
}

torch::Tensor LinearImpl::forward(const torch::Tensor& x) {
  return ToF32(bias_.defined() ? torch::addmm(bias_, x, weight_.t()) : torch::mm(x, weight_.t()));
}

}  // namespace espalier::trainer
