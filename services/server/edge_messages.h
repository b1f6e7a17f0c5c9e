// Edge classification and regression in the messages of MiniBatchStream. Pure.
#pragma once

#include <vector>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/base/tensor.h"
#include "services/sampler/batches/mini_batch_source.h"

namespace espalier::server {

// The labelled edges of a stream. Untrusted input; sampler::CheckEdgePlan checks it against the graph.
Result<sampler::EdgePlan> EdgePlanOf(const minibatch::v1::EdgePlan& edges);

// Appends the tensors of a batch's edges, as the message says.
void AppendEdges(const sampler::EdgeSeeds& edges, std::vector<Tensor>* tensors);

}  // namespace espalier::server
