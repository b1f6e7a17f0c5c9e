// Typed graphs: every node type's features to one width. A type without features gets one learned row.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "services/trainer/model/linear.h"
#include "services/trainer/model/model.h"

namespace espalier::trainer {

class InputProjectionImpl : public torch::nn::Module {
 public:
  // input_widths by NodeTypeId, 0: no features; `read`: the types that the first layer reads.
  InputProjectionImpl(const graph::GraphSchema& schema, std::vector<int64_t> input_widths,
                      const std::vector<bool>& read, int64_t width, uint64_t seed);

  // f32 [rows read, input width] -> f32 [rows read, width], by NodeTypeId
  TypedRows forward(const TypedRows& features, const std::vector<uint32_t>& num_inputs);

 private:
  const std::vector<int64_t> input_widths_;
  const int64_t width_;
  std::vector<Linear> linear_;               // by NodeTypeId; null where there are no features
  std::vector<torch::Tensor> learned_rows_;  // by NodeTypeId; f32 [1, width], or undefined
};
TORCH_MODULE(InputProjection);

}  // namespace espalier::trainer
