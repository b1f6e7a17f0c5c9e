// The environment of a child: what the document says about stores, where it leaves its last words, and failpoints.
#pragma once

#include <string>

#include "services/base/environment.h"
#include "services/job/dist_training.h"
#include "services/runner/run/role.h"

namespace espalier::run {

// AWS_ENDPOINT_URL_S3 and AWS_REGION where spec.storage.s3 names them; credentials stay where they are.
EnvironmentMap StoreEnvironment(const job::S3Storage& s3);

// What a child's ESPALIER_FAILPOINTS is to be: ESPALIER_FAILPOINTS_TRAINER_1 or else ESPALIER_FAILPOINTS_TRAINER of
// `own`. Empty for every life but the first: whoever is started again does not crash again.
std::string FailpointsFor(ChildId child, const EnvironmentMap& own, bool first_life);

}  // namespace espalier::run
