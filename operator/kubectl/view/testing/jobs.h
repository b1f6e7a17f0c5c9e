// For tests: jobs and pods as the API server shows them at Now().
#pragma once

#include <vector>

#include "operator/kubectl/view/job_event.h"
#include "operator/kubectl/view/job_pod.h"

namespace espalier::ctl::view::testing {

kube::WallTime Now();
kube::WallTime Ago(std::chrono::seconds time);

// "ml/cora" as JSON with its status: two servers, two trainers, 10 epochs.
kube::Json TrainingJobJson();  // in epoch 4
kube::Json FailedJobJson();    // out of memory too often; lastError names OomKilledPodJson
kube::Json SucceededJobJson();
api::DistTraining Parsed(const kube::Json& object);

// Returns a pod of "cora" with its role's labels. `status` is merged into the pod's status (RFC 7396).
kube::Json PodJson(const std::string& name, api::Role role, int64_t rank, const kube::Json& status);
kube::Json OomKilledPodJson();  // trainer 1 of incarnation 4
JobPod Member(const kube::Json& pod);

// Returns a Warning event of "v1", last seen `ago` before Now().
kube::Json EventJson(const std::string& name, const std::string& kind, const std::string& object,
                     const std::string& reason, const std::string& message, std::chrono::seconds ago);

}  // namespace espalier::ctl::view::testing
