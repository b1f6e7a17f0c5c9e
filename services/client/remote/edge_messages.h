// Edge classification and regression in the messages of MiniBatchStream, the trainer's side. Pure.
#pragma once

#include <span>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/base/tensor.h"
#include "services/sampler/batches/mini_batch_source.h"

namespace espalier::client {

// Tensors of a batch of labelled edges, behind all others.
inline constexpr size_t kEdgeTensors = 3;

minibatch::v1::EdgePlan EdgePlanMessageOf(const sampler::EdgePlan& edges);

// The edges of a batch with `num_seeds` seeds of all node types. Untrusted input: sizes and rows are checked, so that a
// loss may index with them; what the labels are is checked by who reads them.
Result<sampler::EdgeSeeds> EdgeSeedsOf(std::span<const Tensor, kEdgeTensors> tensors, uint64_t num_seeds);

}  // namespace espalier::client
