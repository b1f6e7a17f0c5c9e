// Labels and annotations that the operator writes, and those it selects by.
#pragma once

#include <map>
#include <string>

#include "operator/api/dist_training.h"

namespace espalier::ctl::resources {

inline constexpr char kManagedByLabel[] = "app.kubernetes.io/managed-by";  // = "espalier-operator"
inline constexpr char kNameLabel[] = "app.kubernetes.io/name";             // = "espalier"
inline constexpr char kComponentLabel[] = "app.kubernetes.io/component";   // = role, or "job" for what all roles share
inline constexpr char kJobLabel[] = "espalier.io/job";                     // = name of the DistTraining
inline constexpr char kIncarnationLabel[] = "espalier.io/incarnation";     // trainers and their ConfigMap
inline constexpr char kAttemptLabel[] = "espalier.io/attempt";             // partition Jobs
inline constexpr char kCompletionIndexLabel[] =
    "batch.kubernetes.io/job-completion-index";                 // the Job controller's; an annotation too
inline constexpr char kReplicaLabel[] = "espalier.io/replica";  // of a server: its group's number
// Of what a child was made from and what may change in a job's life (its role's fields, image, replicas, incarnation),
// not of its rendered text: an upgraded operator that renders otherwise re-applies nothing that runs.
inline constexpr char kInputsAnnotation[] = "espalier.io/inputs";
inline constexpr char kRenewAnnotation[] =
    "espalier.io/renew-certificates";  // on the DistTraining: any new value renews

inline constexpr char kManagedBySelector[] = "app.kubernetes.io/managed-by=espalier-operator";

inline constexpr char kSharedComponent[] = "job";

using Labels = std::map<std::string, std::string>;

Labels MakeLabels(const api::DistTraining& training, const std::string& component);
// Of all pods of the job, and of a role's.
Labels MakeSelector(const api::DistTraining& training);
Labels MakeSelector(const api::DistTraining& training, api::Role role);

// Returns the labels that children and pods inherit from the DistTraining. Labels of Kubernetes, Espalier, Helm, Argo
// and Flux are left out: those tools would treat the children as their own objects. So are job-name and controller-uid,
// which the Job controller sets.
Labels PassedOnLabels(const api::DistTraining& training);

}  // namespace espalier::ctl::resources
