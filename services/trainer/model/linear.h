// x W^T + b with our own first values. Torch's Linear draws from torch's generator, which results must not touch.
#pragma once

#include <torch/torch.h>

#include <string>

namespace espalier::trainer {

enum class Bias { kNone, kZeros };
// First values of the weight: torch's xavier_uniform_ or xavier_normal_.
enum class WeightInit { kXavierUniform, kXavierNormal };

// Parameters "weight" f32 [out, in] and "bias" f32 [out], zeros.
class LinearImpl : public torch::nn::Module {
 public:
  // `name`: of this module in its model, for the random stream.
  LinearImpl(int64_t inputs, int64_t outputs, Bias bias, double gain, uint64_t seed, const std::string& name,
             WeightInit init = WeightInit::kXavierUniform);

  torch::Tensor forward(const torch::Tensor& x);  // [N, in] -> [N, out]
  const torch::Tensor& weight() const { return weight_; }

 private:
  torch::Tensor weight_;
  torch::Tensor bias_;  // undefined for Bias::kNone
};
TORCH_MODULE(Linear);

}  // namespace espalier::trainer
