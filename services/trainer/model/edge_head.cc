#include "services/trainer/model/edge_head.h"

#include "services/base/check.h"
#include "services/trainer/model/initialization.h"
#include "services/trainer/ops/autocast.h"

namespace espalier::trainer {

EdgeHead::EdgeHead(int64_t width, int64_t num_outputs, uint64_t seed, job::Precision precision)
    : precision_(precision), hidden_(nullptr), output_(nullptr) {
  ESPALIER_CHECK(width > 0 && num_outputs > 0) << "width " << width << ", " << num_outputs << " outputs";
  hidden_ = register_module("hidden", Linear(2 * width, width, Bias::kZeros, kReluGain, seed, "edge_head.hidden"));
  output_ = register_module("output", Linear(width, num_outputs, Bias::kZeros, /*gain=*/1.0, seed, "edge_head.output"));
}

torch::Tensor EdgeHead::Outputs(const torch::Tensor& sources, const torch::Tensor& destinations) {
  const torch::Device device = hidden_->weight().device();
  const AutocastScope autocast(precision_, device.type());
  const torch::Tensor ends = torch::cat({sources, destinations}, 1).to(device);
  return output_->forward(torch::relu(hidden_->forward(ends)));
}

}  // namespace espalier::trainer
