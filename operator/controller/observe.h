// The world around one job as values: from the caches, and by GET what no cache holds.
#pragma once

#include "operator/client/api_client.h"
#include "operator/controller/caches.h"
#include "operator/controller/job_memory.h"
#include "operator/plan/plan.h"

namespace espalier::ctl::controller {

// What the caches and the process's memory say. No requests.
plan::Observed ObservedFromCaches(const api::DistTraining& training, const Caches& caches, JobMemory& memory);

// Looks again at the names that others' objects had, and fills in what `questions` ask, by requests. Secrets are looked
// at and dropped: only facts about certificates stay in `memory`, for kCertificatesLifetime, and what events said, for
// kEventsLifetime; events that nobody has repeated for long are over. Errors of the API server, but for NotFound, which
// is an answer.
Status LookInTheWay(const api::DistTraining& training, client::ApiClient& client, JobMemory& memory,
                    plan::Observed* seen);
Status Answer(const plan::Questions& questions, const api::DistTraining& training, client::ApiClient& client,
              JobMemory& memory, kube::WallTime now, plan::Observed* seen);

// The Secrets that the document refers to, with the keys that pods need of them.
struct SecretReference {
  std::string name;
  std::vector<std::string> keys;
};
std::vector<SecretReference> ReferencedSecrets(const api::Spec& spec);

}  // namespace espalier::ctl::controller
