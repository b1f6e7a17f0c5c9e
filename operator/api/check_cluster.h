// Requirements of a cluster on a document, besides those that services/job checks for every document. Pods share no
// disk, so URIs must be in object storage or on a volume that the pods that use them mount.
#pragma once

#include "operator/api/dist_training.h"

namespace espalier::ctl::api {

// Returns InvalidArgument with one line per violation, "spec.output.uri: ...", or OK.
espalier::Status CheckCluster(const Spec& spec);

}  // namespace espalier::ctl::api
