// All relations of a layer as one block over all node types, for models that do not distinguish relations.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "services/trainer/model/convolution.h"

namespace espalier::trainer {

// As in any block, the written rows come first: x holds the written rows of every type in the order of WrittenRows,
// then the other rows that each type reads. The edges of a destination are ordered by relation.
struct MergedBlock {
  torch::Tensor x;  // f32 [rows read of all types, F]
  std::vector<uint32_t> indptr;
  std::vector<uint32_t> indices;

  kernels::Segments segments() const { return {indptr, indices}; }
};

MergedBlock MergeBlocks(const graph::GraphSchema& schema, const sampler::BatchLayer& edges, const TypedRows& inputs,
                        const WrittenRows& written);

}  // namespace espalier::trainer
