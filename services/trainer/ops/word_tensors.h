// Vectors of words as tensors, so that autograd keeps them until the way back.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace espalier::trainer {

// i32 [words], without a copy.
inline torch::Tensor KeptWords(std::vector<uint32_t> words) {
  auto owner = std::make_shared<std::vector<uint32_t>>(std::move(words));
  return torch::from_blob(
      owner->data(), {static_cast<int64_t>(owner->size())}, [owner](void*) {}, torch::kInt32);
}

// As long as the tensor lives.
inline std::span<const uint32_t> ToWords(const torch::Tensor& kept) {
  return {static_cast<const uint32_t*>(kept.data_ptr()), static_cast<size_t>(kept.numel())};
}

}  // namespace espalier::trainer
