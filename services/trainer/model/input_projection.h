// Projects the inputs (features and learnable rows) of every node type that the first layer reads to the same width. A
// type that has neither gets one learned row, which all nodes of the type share.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "services/trainer/model/linear.h"
#include "services/trainer/model/model.h"

namespace espalier::trainer {

class InputProjectionImpl : public torch::nn::Module {
 public:
  // input_widths: by NodeTypeId; 0: no inputs. read: by NodeTypeId, whether the first layer reads the type. Only
  // types that it reads get parameters.
  InputProjectionImpl(const graph::GraphSchema& schema, std::vector<int64_t> input_widths,
                      const std::vector<bool>& read, int64_t width, uint64_t seed);

  // Returns the projected rows by NodeTypeId: f32 [rows read, input width] -> f32 [rows read, width]; undefined for
  // types that the first layer does not read. num_inputs: the number of rows read, by NodeTypeId.
  TypedRows forward(const TypedRows& features, const std::vector<uint32_t>& num_inputs);

 private:
  const std::vector<int64_t> input_widths_;
  const int64_t width_;
  // By NodeTypeId; both are unset for types that the first layer does not read.
  std::vector<Linear> linear_;               // null without inputs
  std::vector<torch::Tensor> learned_rows_;  // f32 [1, width]; undefined with inputs
};
TORCH_MODULE(InputProjection);

}  // namespace espalier::trainer
