// Dropout masks, computed by operations of torch, which run on every device. They are bitwise equal to the masks of
// kernels/dropout_half_words.h and kernels/attention.h.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace espalier::trainer {

// Returns whether each element of the rows of N nodes is kept, bool [N, columns]: element (v, j) is kept if the random
// half-word of node v and column j (kernels/dropout_half_words.h) is at least `threshold` (kernels::DropThreshold).
// original_ids: i64 [N], on the device of the result.
torch::Tensor MakeKeepMask(uint64_t key, const torch::Tensor& original_ids, int64_t columns, int32_t threshold);

// Returns whether the attention weight of each edge and head is kept, bool [E, heads], by the rule of
// kernels::EdgeDropoutFactors.
// source_ids, destination_ids: i64 [E], the original ids of each edge's endpoints, on the device of the result.
torch::Tensor MakeEdgeKeepMask(uint64_t key, const torch::Tensor& source_ids, const torch::Tensor& destination_ids,
                               int64_t heads, int32_t threshold);

}  // namespace espalier::trainer
