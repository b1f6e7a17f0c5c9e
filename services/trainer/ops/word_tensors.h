// Converts vectors of unsigned 32-bit words to tensors, so that autograd can save them for the backward pass.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace espalier::trainer {

// Returns the words as a tensor that owns them, i32 [words.size()], without a copy.
inline torch::Tensor WordsToTensor(std::vector<uint32_t> words) {
  auto owner = std::make_shared<std::vector<uint32_t>>(std::move(words));
  return torch::from_blob(
      owner->data(), {static_cast<int64_t>(owner->size())}, [owner](void*) {}, torch::kInt32);
}

// Returns the words of a tensor that WordsToTensor has returned; valid as long as the tensor lives.
inline std::span<const uint32_t> ToWords(const torch::Tensor& tensor) {
  return {static_cast<const uint32_t*>(tensor.data_ptr()), static_cast<size_t>(tensor.numel())};
}

}  // namespace espalier::trainer
