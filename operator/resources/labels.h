// Labels and annotations that the operator writes, and selectors by them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "operator/api/dist_training.h"

namespace espalier::ctl::resources {

inline constexpr char kManagedByLabel[] = "app.kubernetes.io/managed-by";  // = "espalier-operator"
inline constexpr char kNameLabel[] = "app.kubernetes.io/name";             // = "espalier"
inline constexpr char kComponentLabel[] = "app.kubernetes.io/component";   // = role, or kSharedComponent
inline constexpr char kJobLabel[] = "espalier.io/job";                     // = name of the DistTraining
inline constexpr char kIncarnationLabel[] = "espalier.io/incarnation";     // trainers and their ConfigMap
inline constexpr char kAttemptLabel[] = "espalier.io/attempt";             // partition Jobs
// Set by the Job controller; also an annotation.
inline constexpr char kCompletionIndexLabel[] = "batch.kubernetes.io/job-completion-index";
inline constexpr char kReplicaLabel[] = "espalier.io/replica";  // of a server: number of its replica
// Hash of the mutable inputs of a child (its role's fields, image, replicas, incarnation; child.h). It is not a hash of
// the rendered object, so that an upgraded operator that renders differently does not re-apply running objects.
inline constexpr char kInputsAnnotation[] = "espalier.io/inputs";
// On the DistTraining: a new value renews the job's certificates.
inline constexpr char kRenewAnnotation[] = "espalier.io/renew-certificates";

// Labels of Kueue on the DistTraining: the LocalQueue, the WorkloadPriorityClass, and the longest time in seconds for
// which the job may be admitted.
inline constexpr char kQueueLabel[] = "kueue.x-k8s.io/queue-name";
inline constexpr char kQueuePriorityLabel[] = "kueue.x-k8s.io/priority-class";
inline constexpr char kQueueMaxTimeLabel[] = "kueue.x-k8s.io/max-exec-time-seconds";

// Annotations of Kueue in the template of a role. The first two name a node label, such as topology.kubernetes.io/zone:
// the role's pods must (first) or should (second) run on nodes with the same value of this label. The third says that
// the distance of the pods does not matter.
inline constexpr char kRequiredTopologyAnnotation[] = "kueue.x-k8s.io/podset-required-topology";
inline constexpr char kPreferredTopologyAnnotation[] = "kueue.x-k8s.io/podset-preferred-topology";
inline constexpr char kUnconstrainedTopologyAnnotation[] = "kueue.x-k8s.io/podset-unconstrained-topology";

inline constexpr char kManagedBySelector[] = "app.kubernetes.io/managed-by=espalier-operator";

inline constexpr char kSharedComponent[] = "job";  // of children that do not belong to a role

using Labels = std::map<std::string, std::string>;

// Returns the value of a label of the DistTraining, or "".
std::string FindLabel(const api::DistTraining& training, const char* label);
// Returns the value of kQueueMaxTimeLabel, or nullopt if it is not a positive 32-bit number: Kueue ignores such a
// label too.
std::optional<int64_t> MaxExecutionSeconds(const api::DistTraining& training);

// Returns the labels of a child without the inherited ones: MakeSelector(training) and kComponentLabel.
Labels MakeLabels(const api::DistTraining& training, const std::string& component);
// Return the selectors of all pods of the job, and of a role's pods.
Labels MakeSelector(const api::DistTraining& training);
Labels MakeSelector(const api::DistTraining& training, api::Role role);

// Returns the labels that children and pods inherit from the DistTraining. Labels of Kubernetes, Espalier, Helm, Argo
// and Flux are left out: those tools would treat the children as their own objects. The labels job-name and
// controller-uid are left out too, because the Job controller sets them.
Labels InheritedLabels(const api::DistTraining& training);

}  // namespace espalier::ctl::resources
