// Linear map x W^T + b whose initial values depend only on the seed and the name (initialization.h). Torch's Linear
// draws its initial values from torch's generator, on which results must not depend.
#pragma once

#include <torch/torch.h>

#include <string>

namespace espalier::trainer {

enum class Bias { kNone, kZeros };
// Distribution of the weight's initial values: that of torch's xavier_uniform_ or xavier_normal_.
enum class WeightInit { kXavierUniform, kXavierNormal };

// Parameters: "weight" f32 [out, in] and "bias" f32 [out]. The bias is initially zero.
class LinearImpl : public torch::nn::Module {
 public:
  // `name` is the module's name in its model; the initial values depend on it. `gain` scales the initial weight.
  LinearImpl(int64_t inputs, int64_t outputs, Bias bias, double gain, uint64_t seed, const std::string& name,
             WeightInit init = WeightInit::kXavierUniform);

  // Returns f32 [N, out], even within an AutocastScope. x: f32 [N, in].
  torch::Tensor forward(const torch::Tensor& x);
  const torch::Tensor& weight() const { return weight_; }

 private:
  torch::Tensor weight_;
  torch::Tensor bias_;  // undefined for Bias::kNone
};
TORCH_MODULE(Linear);

}  // namespace espalier::trainer
