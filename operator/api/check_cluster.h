// What a cluster asks of a document beyond what services/job asks of every one: pods share no disk, so places must be
// in object storage or on a volume that the pods who use them mount.
#pragma once

#include "operator/api/dist_training.h"

namespace espalier::ctl::api {

// InvalidArgument with one line per violation, "spec.output.uri: ..."; ok where there is none.
espalier::Status CheckCluster(const Spec& spec);

}  // namespace espalier::ctl::api
