// Checks whether the API server accepts the objects that are made from a job's templates. Sends each as a server-side
// apply with dryRun and fieldValidation=Strict, so that an unknown field is reported before anything is created.
#pragma once

#include <string>

#include "operator/client/api_client.h"
#include "operator/controller/pod_policy.h"
#include "operator/plan/plan.h"

namespace espalier::ctl::controller {

// Returns the first refusal of the objects in `action`, which are made from the templates of `training`. Checks
// `policy` first: all its violations are one refusal. Then sends the dry runs. A refusal caused by the document names
// the document's field. If an admission webhook does not support dry runs, there is no refusal, and `error` contains
// the API server's message. Returns the errors of ApiClient that are not refusals.
Result<plan::Observed::DryRun> DryRun(client::ApiClient& client, const plan::DryRunTemplates& action,
                                      const api::DistTraining& training, const std::string& field_manager,
                                      const PodPolicy& policy = {});

// Translates `message`, the API server's error about `child`. If the message names a path in the pod template, the
// result begins with the corresponding path in the document: a path below spec.<role> if a field there sets the value
// and the role's template does not, otherwise a path below spec.<role>.template. Examples, for the trainers' Job:
// "...: .spec.template.spec.foo: field not declared in schema"
//   -> "spec.trainers.template.spec.foo: field not declared in schema"
// "...: spec.template.spec.containers[0].resources.requests: Invalid value: ..."
//   -> "spec.trainers.resources.requests: Invalid value: ..."
// In the result, containers are given by name, because the index of a container differs between the pod template and
// the document.
std::string TranslateToDocument(const kube::Json& child, const api::DistTraining& training, const std::string& message);

}  // namespace espalier::ctl::controller
