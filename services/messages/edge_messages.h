// Edge classification and regression in the messages of MiniBatchStream, both ways. Pure.
#pragma once

#include <span>
#include <vector>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/base/tensor.h"
#include "services/sampler/batches/mini_batch_source.h"

namespace espalier::messages {

// Tensors of a batch of labelled edges, behind all others.
inline constexpr size_t kEdgeTensors = 3;

minibatch::v1::EdgePlan EncodeEdgePlan(const sampler::EdgePlan& edges);
// Untrusted input; sampler::CheckEdgePlan checks it against the graph.
Result<sampler::EdgePlan> DecodeEdgePlan(const minibatch::v1::EdgePlan& edges);

// Appends the tensors of a batch's edges, as the message says.
void EncodeEdgeSeeds(const sampler::EdgeSeeds& edges, std::vector<Tensor>* tensors);
// The edges of a batch with `num_seeds` seeds of all node types. Untrusted input: sizes and rows are checked, so that a
// loss may index with them; what the labels are is checked by who reads them.
Result<sampler::EdgeSeeds> DecodeEdgeSeeds(std::span<const Tensor, kEdgeTensors> tensors, uint64_t num_seeds);

}  // namespace espalier::messages
