// Link prediction in the messages of MiniBatchStream, both ways. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/base/tensor.h"
#include "services/messages/service_limits.h"
#include "services/sampler/batches/mini_batch_source.h"

namespace espalier::messages {

minibatch::v1::LinkPlan EncodeLinkPlan(const sampler::LinkPlan& links);
// The links of a stream whose batch size and trainers have been checked. Untrusted input; edge types are checked
// against the graph by sampler::CheckLinkPlan. ResourceExhausted where a trainer's step, or with in-degree negatives a
// whole step, has more than limits.max_rows negatives, or edges more than limits.max_edge_columns columns.
Result<sampler::LinkPlan> DecodeLinkPlan(const minibatch::v1::StreamStart& start, const ServiceLimits& limits);

// Appends the tensors of a batch's pairs, as the message says, and says in `header` which.
void EncodeLinkSeeds(const sampler::LinkSeeds& links, minibatch::v1::LinkSeeds* header, std::vector<Tensor>* tensors);

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
Result<sampler::LinkSeeds> DecodeLinkSeeds(const minibatch::v1::LinkSeeds& header, std::span<const Tensor> tensors,
                                           const sampler::LinkPlan& plan, const LinkBounds& bounds);

}  // namespace espalier::messages
