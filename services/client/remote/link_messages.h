// Link prediction in the messages of MiniBatchStream, the trainer's side. Pure.
#pragma once

#include <span>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/base/tensor.h"
#include "services/sampler/mini_batch_source.h"

namespace espalier::client {

// Tensors of a batch with links, behind all others.
inline constexpr size_t kLinkTensors = 7;

minibatch::v1::LinkPlan LinkPlanMessageOf(const sampler::LinkPlan& links);

// The pairs of a batch with `num_seeds` seeds of all node types, of a plan with `num_types` edge types. Untrusted
// input: sizes and numbers are checked, so that a loss may index with them.
Result<sampler::LinkSeeds> LinkSeedsOf(const minibatch::v1::LinkSeeds& header,
                                       std::span<const Tensor, kLinkTensors> tensors, uint64_t num_seeds,
                                       uint64_t num_types);

}  // namespace espalier::client
