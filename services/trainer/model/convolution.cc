#include "services/trainer/model/convolution.h"

namespace espalier::trainer {

torch::Tensor SelfRows(const TypedRows& inputs, const WrittenRows& written) {
  std::vector<torch::Tensor> parts;
  for (size_t k = 0; k < written.types.size(); ++k) {
    parts.push_back(inputs[written.types[k].value].narrow(0, 0, written.counts[k]));
  }
  return parts.size() == 1 ? parts.front() : torch::cat(parts, 0);
}

}  // namespace espalier::trainer
