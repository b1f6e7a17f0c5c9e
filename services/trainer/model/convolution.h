// Interface of one layer's message passing, without bias, normalization and activation (see hidden_epilogue.h).
#pragma once

#include <torch/torch.h>

#include <vector>

#include "services/kernels/segments.h"
#include "services/trainer/model/model.h"

namespace espalier::trainer {

// The rows that a layer writes. The rows of several node types are concatenated in one matrix, so that row-wise
// operations (dense products, bias, normalization, activation) run once.
struct WrittenRows {
  std::vector<NodeTypeId> types;  // ascending
  std::vector<int64_t> counts;    // number of rows of each of `types`
  std::vector<int64_t> first;     // by NodeTypeId: the index of the type's first row; -1: not written
  int64_t total = 0;
};

class Convolution : public torch::nn::Module {
 public:
  // Returns f32 [written.total, H], contiguous. `inputs`: f32 [rows that the layer reads, F] by NodeTypeId, all
  // defined.
  virtual torch::Tensor Forward(const sampler::BatchLayer& edges, const TypedRows& inputs, const WrittenRows& written,
                                const LayerRun& run) = 0;
};

inline kernels::Segments ToSegments(const sampler::Block& block) { return {block.indptr, block.indices}; }

// Returns the inputs of the destinations themselves: the first rows of each written type, concatenated.
torch::Tensor SelfRows(const TypedRows& inputs, const WrittenRows& written);

}  // namespace espalier::trainer
