// Checks by dry run whether the API server accepts the objects that a job's templates make: a server-side apply with
// dryRun and fieldValidation=Strict, so that an unknown field is reported before anything is created.
#pragma once

#include <string>

#include "operator/client/api_client.h"
#include "operator/controller/pod_policy.h"
#include "operator/plan/plan.h"

namespace espalier::ctl::controller {

// Returns the first refusal of the templates of `training`, by `policy` or, after that, by the API server. A refusal
// caused by the document names the document's field. If an admission webhook does not support dry runs, `error` says so
// and there is no refusal. Returns an error if the API server cannot be reached.
Result<plan::Observed::DryRun> DryRun(client::ApiClient& client, const plan::DryRunTemplates& action,
                                      const api::DistTraining& training, const std::string& field_manager,
                                      const PodPolicy& policy = {});

// Returns `message`, the API server's error about `child`, with the path in the document in front if it names a path of
// the Pod template. A field of the role is preferred to a field of its template, unless the template sets the same
// field:
// "...: .spec.template.spec.foo: field not declared in schema" for the trainers' Job
//   -> "spec.trainers.template.spec.foo: field not declared in schema"
// "...: spec.template.spec.containers[0].resources.requests: Invalid value: ..."
//   -> "spec.trainers.resources.requests: Invalid value: ..."
// Containers are given by name: their index in the Pod template differs from that in the document.
std::string TranslateToDocument(const kube::Json& child, const api::DistTraining& training, const std::string& message);

}  // namespace espalier::ctl::controller
