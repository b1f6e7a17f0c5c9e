// The operator's caches of cluster objects: one store per kind, filled by informers.h.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "operator/kube/pod.h"
#include "operator/kube/pod_group.h"
#include "operator/kube/queued_workload.h"
#include "operator/kube/workload.h"
#include "operator/plan/observed.h"
#include "operator/runtime/store.h"

namespace espalier::ctl::controller {

// A DistTraining as JSON text, with the few fields that are needed without parsing it. Parsed, it would take ten times
// the memory, and if there are thousands of jobs, most are idle.
struct TrainingRecord {
  kube::ObjectMeta meta;
  std::string phase;  // status.phase as stored
  int64_t incarnation = 0;
  bool has_program = false;  // spec.trainers.program is set, so the trainers are not polled for progress
  bool is_managed = true;    // false: another controller manages the job (runPolicy.managedBy)
  size_t fingerprint = 0;    // hash of `object` without status.progress and resourceVersion
  std::string object;        // the whole resource as JSON, without managedFields and kubectl's last-applied annotation
  friend bool operator==(const TrainingRecord&, const TrainingRecord&) = default;
};
// Returns InvalidArgument if the metadata is invalid.
Result<TrainingRecord> ParseTrainingRecord(const kube::Json& object);

// Kinds of children of which the caches keep only the metadata.
inline constexpr std::array kMetadataOnlyKinds{&kube::kServices, &kube::kConfigMaps, &kube::kServiceAccounts,
                                               &kube::kPodDisruptionBudgets, &kube::kNetworkPolicies};

// Returns the key of the DistTraining that the object's job label names, or nullopt if it has no such label.
std::optional<kube::ObjectKey> FindJob(const kube::ObjectMeta& meta);

// Removes kubectl's last-applied annotation, which can be the largest part of an object's metadata. The operator does
// not read it.
void DropBulkyAnnotations(kube::ObjectMeta* meta);

// One store per kind. Children are indexed by the key that FindJob returns. Thread-safe.
struct Caches {
  Caches();

  runtime::Store<TrainingRecord> trainings;
  runtime::Store<kube::Job> jobs;
  runtime::Store<kube::StatefulSet> stateful_sets;
  runtime::Store<kube::Pod> pods;
  runtime::Store<kube::QueuedWorkload> workloads;  // of Kueue; empty if the operator does not use it
  runtime::Store<kube::PodGroup> pod_groups;       // empty if the operator does not use them
  std::array<std::unique_ptr<runtime::Store<plan::Child>>, kMetadataOnlyKinds.size()>
      others;  // in the order of kMetadataOnlyKinds
};

}  // namespace espalier::ctl::controller
