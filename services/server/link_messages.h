// Link prediction in the messages of MiniBatchStream. Pure.
#pragma once

#include <vector>

#include "espalier/minibatch/v1/minibatch.pb.h"
#include "services/base/tensor.h"
#include "services/sampler/batches/mini_batch_source.h"
#include "services/server/limits.h"

namespace espalier::server {

// The links of a stream whose batch size and trainers have been checked. Untrusted input; edge types are checked
// against the graph by sampler::CheckLinkPlan. ResourceExhausted where a trainer's step, or with in-degree negatives a
// whole step, has more than limits.max_rows negatives, or edges more than limits.max_edge_columns columns.
Result<sampler::LinkPlan> LinkPlanOf(const minibatch::v1::StreamStart& start, const ServiceLimits& limits);

// Appends the tensors of a batch's pairs, as the message says, and says in `header` which.
void AppendLinks(const sampler::LinkSeeds& links, minibatch::v1::LinkSeeds* header, std::vector<Tensor>* tensors);

}  // namespace espalier::server
