// Conversion of link prediction to and from the messages of MiniBatchStream. Pure.
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
// Returns the links of a stream whose batch size and trainers have been checked. Untrusted input;
// sampler::CheckLinkPlan checks the edge types against the graph. ResourceExhausted if a trainer's step or, with
// in-degree negatives, a whole step has more than limits.max_rows negatives, or if more than limits.max_edge_columns
// edge columns are requested.
Result<sampler::LinkPlan> DecodeLinkPlan(const minibatch::v1::StreamStart& start, const ServiceLimits& limits);

// Appends the tensors of a batch's pairs, in the order that the message documents, and records in `header` which are
// present.
void EncodeLinkSeeds(const sampler::LinkSeeds& links, minibatch::v1::LinkSeeds* header, std::vector<Tensor>* tensors);

// Returns how many tensors a batch with links has after all others.
size_t NumLinkTensors(const minibatch::v1::LinkSeeds& header);

// Exclusive upper bounds of the numbers in a batch's pairs.
struct LinkBounds {
  uint64_t num_seeds = 0;  // of the batch, of all node types
  uint64_t num_edges = 0;  // of the graph; of the plan's edge type if the plan has one
};

// Returns the pairs of a batch of the plan; tensors [NumLinkTensors]. Untrusted input: sizes and numbers are checked,
// so that a loss function may index with them. Unimplemented if requested rows of edge columns, or edge ids, are
// missing: the sampler's version does not support them.
Result<sampler::LinkSeeds> DecodeLinkSeeds(const minibatch::v1::LinkSeeds& header, std::span<const Tensor> tensors,
                                           const sampler::LinkPlan& plan, const LinkBounds& bounds);

}  // namespace espalier::messages
