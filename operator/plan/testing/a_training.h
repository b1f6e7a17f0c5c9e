// DistTrainings for tests.
#pragma once

#include "operator/api/dist_training.h"

namespace espalier::ctl::plan::testing {

// Returns "ml/cora": two partitions, one server each, no samplers, two trainers, backoffLimit 3, tls Disabled. `spec`
// is merged into the document's spec (RFC 7396), and may make it invalid.
api::DistTraining ATraining(const kube::Json& spec = kube::Json::object());

// Merges `spec` into the resource's spec, as kubectl apply does. Status and metadata are kept.
void MergeSpec(api::DistTraining* training, const kube::Json& spec);

}  // namespace espalier::ctl::plan::testing
