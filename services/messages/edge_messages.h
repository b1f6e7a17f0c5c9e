// Conversion of the plans and seeds of edge classification and regression to and from the messages of MiniBatchStream.
// Pure functions.
#pragma once

#include <span>
#include <vector>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/base/tensor.h"
#include "services/sampler/batches/mini_batch_source.h"

namespace espalier::messages {

// Number of tensors that contain the labeled edges of a batch. They follow all other tensors of the batch.
inline constexpr size_t kEdgeTensors = 3;

minibatch::v1::EdgePlan EncodeEdgePlan(const sampler::EdgePlan& edges);
// Returns the plan. Untrusted input: InvalidArgument if an edge type does not fit in 16 bits; sampler::CheckEdgePlan
// checks the plan against the graph.
Result<sampler::EdgePlan> DecodeEdgePlan(const minibatch::v1::EdgePlan& edges);

// Appends the tensors of a batch's edges, in the order that the message MiniBatch documents.
void EncodeEdgeSeeds(const sampler::EdgeSeeds& edges, std::vector<Tensor>* tensors);
// Returns the edges of a batch. Their endpoints are row numbers among the seeds of all node types (sampler::LinkSeeds);
// `num_seeds` is the number of these seeds. Untrusted input: InvalidArgument for wrong sizes, for row numbers out of
// range (a loss function uses them as indices without checks), and for BOOL labels other than 0 and 1. The code that
// reads the labels checks their dtype, and their values if they are not BOOL.
Result<sampler::EdgeSeeds> DecodeEdgeSeeds(std::span<const Tensor, kEdgeTensors> tensors, uint64_t num_seeds);

}  // namespace espalier::messages
