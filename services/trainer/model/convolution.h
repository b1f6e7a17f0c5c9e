// One layer's message passing, without bias, normalisation and activation (hidden_epilogue adds those).
#pragma once

#include <torch/torch.h>

#include <vector>

#include "services/kernels/segments.h"
#include "services/trainer/model/model.h"

namespace espalier::trainer {

// The rows a layer writes: those of several node types one after another in one matrix, so that everything that
// works row by row (dense products, bias, normalisation, activation) is done once.
struct WrittenRows {
  std::vector<NodeTypeId> types;  // ascending
  std::vector<int64_t> counts;    // rows of each
  std::vector<int64_t> first;     // by NodeTypeId: where a type's rows begin; -1: not written
  int64_t total = 0;
};

class Convolution : public torch::nn::Module {
 public:
  // inputs: f32 [rows read, F] by NodeTypeId, all of them defined. -> f32 [written.total, H], contiguous
  virtual torch::Tensor Forward(const sampler::BatchLayer& edges, const TypedRows& inputs, const WrittenRows& written,
                                const LayerRun& run) = 0;
};

inline kernels::Segments ToSegments(const sampler::Block& block) { return {block.indptr, block.indices}; }

// The first rows of each written type, one after another: what the destinations themselves bring along.
torch::Tensor SelfRows(const TypedRows& inputs, const WrittenRows& written);

}  // namespace espalier::trainer
