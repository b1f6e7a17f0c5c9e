#include "services/trainer/model/linear.h"

#include "services/trainer/model/initialization.h"
#include "services/trainer/ops/autocast.h"
#include "services/trainer/ops/matrix_product.h"

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

torch::Tensor LinearImpl::forward(const torch::Tensor& x) { return ToF32(MatMul(x, weight_.t(), bias_)); }

}  // namespace espalier::trainer
