// Rules for documents that run on a cluster, in addition to the rules that services/job checks for every document. Pods
// share no disk, so each URI must be in object storage or on a volume that is mounted by every pod that uses the URI.
#pragma once

#include "operator/api/dist_training.h"

namespace espalier::ctl::api {

// Returns InvalidArgument with one line per violation ("spec.output.uri: ..."), or OK.
espalier::Status CheckSpecForCluster(const Spec& spec);

}  // namespace espalier::ctl::api
