// Documents for tests.
#pragma once

#include "operator/api/dist_training.h"

namespace espalier::ctl::plan::testing {

// "ml/cora": two partitions, one server each, no samplers, two trainers, backoffLimit 3, tls Disabled; `spec` is merged
// into the document (RFC 7396), and may make it invalid.
api::DistTraining ATraining(const kube::Json& spec = kube::Json::object());

// The same resource with another spec, as after kubectl apply: status and metadata stay.
void Respecify(api::DistTraining* training, const kube::Json& spec);

}  // namespace espalier::ctl::plan::testing
