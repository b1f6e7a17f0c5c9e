// Collects the objects of one job as plain values: from the caches, and by requests for objects that no cache contains.
#pragma once

#include "operator/client/api_client.h"
#include "operator/controller/caches.h"
#include "operator/controller/job_memory.h"
#include "operator/plan/plan.h"

namespace espalier::ctl::controller {

// Returns the job's objects from the caches, and the dry run and refusal from `memory`. Sends no requests.
plan::Observed ObserveCaches(const api::DistTraining& training, const Caches& caches, JobMemory& memory);

// Reads the object of each taken name of the job in `memory` (JobMemory::TakenName). If the object still exists and is
// not this job's, adds it to `seen->conflicting_objects`; otherwise removes the name from `memory`. A missing object is
// a result; other errors of ApiClient are returned.
Status ReadConflictingObjects(const api::DistTraining& training, client::ApiClient& client, JobMemory& memory,
                              plan::Observed* seen);
// Reads the objects that `lookups` lists, or takes earlier results from `memory`, and adds the results to `seen`.
// Stores flavors, messages of events and facts about certificates in `memory`, but no contents of Secrets. Ignores
// events that have not been repeated for a long time (observe.cc). A missing object is a result, and so is
// PermissionDenied for a flavor or a priority class; other errors of ApiClient are returned.
Status PerformLookups(const plan::Lookups& lookups, const api::DistTraining& training, client::ApiClient& client,
                      JobMemory& memory, kube::WallTime now, plan::Observed* seen);

// A Secret that the document refers to, with the keys that pods read from it.
struct SecretReference {
  std::string name;
  std::vector<std::string> keys;
};
// Returns the Secrets that spec.storage.s3 and spec.tls name.
std::vector<SecretReference> FindReferencedSecrets(const api::Spec& spec);

}  // namespace espalier::ctl::controller
