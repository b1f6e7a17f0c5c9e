#include "services/trainer/model/input_projection.h"

#include <algorithm>

#include "services/trainer/model/initialization.h"

namespace espalier::trainer {

InputProjectionImpl::InputProjectionImpl(const graph::GraphSchema& schema, std::vector<int64_t> input_widths,
                                         const std::vector<bool>& read, int64_t width, uint64_t seed)
    : input_widths_(std::move(input_widths)),
      width_(width),
      linear_(input_widths_.size(), Linear(nullptr)),
      learned_rows_(input_widths_.size()) {
  for (size_t type = 0; type < input_widths_.size(); ++type) {
    if (!read[type]) continue;
    std::string key = schema.node_types()[type];
    std::replace(key.begin(), key.end(), '.', '_');  // dots separate the names of nested modules
    key += "_" + std::to_string(type);
    if (input_widths_[type] > 0) {
      linear_[type] =
          register_module(key, Linear(input_widths_[type], width, Bias::kZeros, /*gain=*/1.0, seed, "input." + key));
    } else {
      torch::Tensor row = torch::empty({1, width});
      FillXavierUniform(row, /*gain=*/1.0, seed, "input." + key);
      learned_rows_[type] = register_parameter(key, row);
    }
  }
}

TypedRows InputProjectionImpl::forward(const TypedRows& features, const std::vector<uint32_t>& num_inputs) {
  TypedRows projected(features.size());
  for (size_t type = 0; type < features.size(); ++type) {
    if (linear_[type]) {
      const bool has_rows = features[type].defined();
      const torch::Device device = linear_[type]->weight().device();
      projected[type] =
          linear_[type]->forward(has_rows ? features[type] : torch::empty({0, input_widths_[type]}, device));
    } else if (learned_rows_[type].defined()) {
      projected[type] = learned_rows_[type].expand({int64_t{num_inputs[type]}, width_});
    }
  }
  return projected;
}

}  // namespace espalier::trainer
