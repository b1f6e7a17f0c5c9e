// Do a job's templates make pods that the API server would take? Asked by a server-side apply that changes nothing,
// with fieldValidation=Strict, so that an unknown field is named before anything exists.
#pragma once

#include <string>

#include "operator/client/api_client.h"
#include "operator/controller/pod_policy.h"
#include "operator/plan/plan.h"

namespace espalier::ctl::controller {

// The first refusal of the templates of `training`: by `policy`, then by the API server. One by what the document says
// is in terms of the document. Where an admission webhook takes no dry runs, `error` says so without a refusal. An
// error where the API server could not be asked.
Result<plan::Observed::DryRun> DryRun(client::ApiClient& client, const plan::DryRunTemplates& action,
                                      const api::DistTraining& training, const std::string& field_manager,
                                      const PodPolicy& policy = {});

// The API server's words about `child`, with the path that the user wrote in front where they name one of the Pod
// template. A field of the role comes before its template, unless the template says the same:
// "...: .spec.template.spec.foo: field not declared in schema" of trainers' Job
//   -> "spec.trainers.template.spec.foo: field not declared in schema"
// "...: spec.template.spec.containers[0].resources.requests: Invalid value: ..."
//   -> "spec.trainers.resources.requests: Invalid value: ..."
// Containers are named, not numbered: their number is not that of the document's list.
std::string InTermsOfDocument(const kube::Json& child, const api::DistTraining& training, const std::string& message);

}  // namespace espalier::ctl::controller
