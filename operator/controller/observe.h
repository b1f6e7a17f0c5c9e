// Collects what is known about one job as values: from the caches, and by GET requests what no cache holds.
#pragma once

#include "operator/client/api_client.h"
#include "operator/controller/caches.h"
#include "operator/controller/job_memory.h"
#include "operator/plan/plan.h"

namespace espalier::ctl::controller {

// Returns what the caches and the memory of this process hold about the job. Sends no requests.
plan::Observed ObservedFromCaches(const api::DistTraining& training, const Caches& caches, JobMemory& memory);

// Reads again the objects that hold a name of this job's children. Adds those that still exist and are not this job's
// to `seen->conflicting_objects`, and removes the others from `memory`. NotFound is a result; other errors of the API
// server are returned.
Status ReadConflictingObjects(const api::DistTraining& training, client::ApiClient& client, JobMemory& memory,
                              plan::Observed* seen);
// Reads the objects that `lookups` lists and adds the results to `seen`. No content of a Secret is kept: `memory` holds
// facts about certificates for kCertificatesLifetime and messages of events for kEventsLifetime. Events that have not
// been repeated for a long time (observe.cc) are ignored. NotFound is a result; other errors of the API server are
// returned.
Status PerformLookups(const plan::Lookups& lookups, const api::DistTraining& training, client::ApiClient& client,
                      JobMemory& memory, kube::WallTime now, plan::Observed* seen);

// A Secret that the document refers to, with the keys that pods read from it.
struct SecretReference {
  std::string name;
  std::vector<std::string> keys;
};
std::vector<SecretReference> ReferencedSecrets(const api::Spec& spec);

}  // namespace espalier::ctl::controller
