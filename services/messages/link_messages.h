// Conversion of the plans and seeds of link prediction to and from the messages of MiniBatchStream. Pure functions.
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
// Returns the link plan of a stream; the caller has checked batch_size and num_trainers of `start`. Untrusted input;
// sampler::CheckLinkPlan checks the edge types against the graph. ResourceExhausted if a trainer's share of a step
// (with in-degree negatives, the whole step) has more than limits.max_rows negatives, or if the plan has too many edge
// types or edge columns.
Result<sampler::LinkPlan> DecodeLinkPlan(const minibatch::v1::StreamStart& start, const ServiceLimits& limits);

// Appends the tensors of a batch's pairs, in the order documented at MiniBatch.tensors, and records in `header` which
// optional tensors are present.
void EncodeLinkSeeds(const sampler::LinkSeeds& links, minibatch::v1::LinkSeeds* header, std::vector<Tensor>* tensors);

// Returns the number of tensors that contain a batch's pairs. They follow all other tensors of the batch.
size_t NumLinkTensors(const minibatch::v1::LinkSeeds& header);

// Exclusive upper bounds of the numbers in a batch's pairs.
struct LinkBounds {
  uint64_t num_seeds = 0;  // of the batch, of all node types
  uint64_t num_edges = 0;  // of the edge type, in the graph; used only with edge ids, which need a single edge type
};

// Returns the pairs of a batch that was sampled by `plan`; tensors [NumLinkTensors]. Untrusted input: InvalidArgument
// for wrong sizes or numbers out of bounds, so that a loss function may use the returned numbers as indices.
// Unimplemented if the message lacks edge ids that the plan requests, or has rows of other edge columns than the plan
// requests: the sampler has another version.
Result<sampler::LinkSeeds> DecodeLinkSeeds(const minibatch::v1::LinkSeeds& header, std::span<const Tensor> tensors,
                                           const sampler::LinkPlan& plan, const LinkBounds& bounds);

}  // namespace espalier::messages
