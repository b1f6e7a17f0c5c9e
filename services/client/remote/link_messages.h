// Link prediction in the messages of MiniBatchStream, the trainer's side. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/base/tensor.h"
#include "services/sampler/batches/mini_batch_source.h"

namespace espalier::client {

minibatch::v1::LinkPlan LinkPlanMessageOf(const sampler::LinkPlan& links);

// How many tensors a batch with links has behind all others.
size_t NumLinkTensors(const minibatch::v1::LinkSeeds& header);

// What the numbers of a batch's pairs are below.
struct LinkBounds {
  uint64_t num_seeds = 0;  // of the batch, of all node types
  uint64_t num_edges = 0;  // of the graph, of the plan's edge type where that is one
};

// The pairs of a batch of the plan; tensors [NumLinkTensors]. Untrusted input: sizes and numbers are checked, so that a
// loss may index with them. Unimplemented where rows of edge columns, or ids, that the plan asks for have not come: the
// sampler is of a version that does not know of them.
Result<sampler::LinkSeeds> LinkSeedsOf(const minibatch::v1::LinkSeeds& header, std::span<const Tensor> tensors,
                                       const sampler::LinkPlan& plan, const LinkBounds& bounds);

}  // namespace espalier::client
