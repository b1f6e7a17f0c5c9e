// Environment variables of a run's children for stores and failpoints.
#pragma once

#include <string>

#include "services/base/environment.h"
#include "services/job/dist_training.h"
#include "services/runner/run/role.h"

namespace espalier::run {

// Returns AWS_ENDPOINT_URL_S3 and AWS_REGION, each if spec.storage.s3 sets it. Credentials are not included; children
// inherit them.
EnvironmentMap StoreEnvironment(const job::S3Storage& s3);

// Returns the value of ESPALIER_FAILPOINTS for a child. For trainer 1 it is ESPALIER_FAILPOINTS_TRAINER_1 of `own`,
// this process's environment, or if that is not set, ESPALIER_FAILPOINTS_TRAINER. Returns an empty string for restarts,
// so that a failpoint triggers only in the child's first process.
std::string FailpointsFor(ChildId child, const EnvironmentMap& own, bool is_first_start);

}  // namespace espalier::run
