// All relations of a layer as one block over all node types: for models that do not tell relations apart.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "services/trainer/model/convolution.h"

namespace espalier::trainer {

// Rows written come first, as in any block: x holds the written rows of every type (WrittenRows' order), then what
// else each type reads. A destination's edges are those of its relations, in the relations' order.
struct MergedBlock {
  torch::Tensor x;  // f32 [rows read of all types, F]
  std::vector<uint32_t> indptr;
  std::vector<uint32_t> indices;

  kernels::Segments segments() const { return {indptr, indices}; }
};

MergedBlock MergeBlocks(const graph::GraphSchema& schema, const sampler::BatchLayer& edges, const TypedRows& inputs,
                        const WrittenRows& written);

}  // namespace espalier::trainer
