// Dropout's random bits in operations of torch, which run on every device: the same masks as those of
// kernels/dropout_half_words.h and kernels/attention.h, bit for bit.
#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace espalier::trainer {

// Returns whether each element of the rows is kept, bool [N, columns]: element (v, j) is kept if the half-word j of the
// node is at least `threshold` (kernels::DropThreshold). original_ids: i64 [N], on the device of the result.
torch::Tensor KeptElements(uint64_t key, const torch::Tensor& original_ids, int64_t columns, int32_t threshold);

// Returns whether each weight of the edges is kept, bool [E, heads], as kernels::EdgeDropoutFactors decides.
// source_ids, destination_ids: i64 [E], the original ids of each edge's ends.
torch::Tensor KeptEdges(uint64_t key, const torch::Tensor& source_ids, const torch::Tensor& destination_ids,
                        int64_t heads, int32_t threshold);

}  // namespace espalier::trainer
