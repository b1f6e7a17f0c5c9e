// Merges the blocks of all relations of a layer into one block over all node types, for models that do not distinguish
// relations.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "services/trainer/model/convolution.h"

namespace espalier::trainer {

// As in any block, the input rows of the destinations come first: x begins with those of every written type, in the
// order of WrittenRows, followed by the remaining input rows of each type. The edges of a destination are ordered by
// relation.
struct MergedBlock {
  torch::Tensor x;                // f32 [input rows of all types, F]
  std::vector<uint32_t> indptr;   // [written rows of all types + 1]
  std::vector<uint32_t> indices;  // [edges], rows of x

  kernels::Segments segments() const { return {indptr, indices}; }  // refers to this object
};

// `inputs` has the rows that the layer reads, all defined.
MergedBlock MergeBlocks(const graph::GraphSchema& schema, const sampler::BatchLayer& edges, const TypedRows& inputs,
                        const WrittenRows& written);

}  // namespace espalier::trainer
