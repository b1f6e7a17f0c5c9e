// What the operator has seen of the cluster: a store for each kind, filled by informers.h.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "operator/kube/pod.h"
#include "operator/kube/workload.h"
#include "operator/plan/observed.h"
#include "operator/runtime/store.h"

namespace espalier::ctl::controller {

// A DistTraining as text: parsed it takes ten times the room, and of thousands most are idle.
struct TrainingRecord {
  kube::ObjectMeta meta;
  std::string phase;  // status.phase as stored
  int64_t incarnation = 0;
  bool has_program = false;  // spec.trainers.program: nobody there tells of progress
  bool is_ours = true;       // no other controller's (runPolicy.managedBy)
  size_t fingerprint = 0;    // of all but progress and what every write changes
  std::string object;        // the whole resource as JSON, without managedFields
  friend bool operator==(const TrainingRecord&, const TrainingRecord&) = default;
};
Result<TrainingRecord> ParseTrainingRecord(const kube::Json& object);

// Kinds of children of which only the metadata is kept.
inline constexpr std::array kOtherKinds{&kube::kServices, &kube::kConfigMaps, &kube::kServiceAccounts,
                                        &kube::kPodDisruptionBudgets, &kube::kNetworkPolicies};

// The DistTraining that an object says it belongs to, by its label; nullopt for others.
std::optional<kube::ObjectKey> FindJob(const kube::ObjectMeta& meta);

// Annotations that kubectl leaves and nobody here reads are most of an object's metadata.
void DropBulkyAnnotations(kube::ObjectMeta* meta);

// Children are indexed by FindJob. Thread-safe, as the stores are.
struct Caches {
  Caches();

  runtime::Store<TrainingRecord> trainings;
  runtime::Store<kube::Job> jobs;
  runtime::Store<kube::StatefulSet> stateful_sets;
  runtime::Store<kube::Pod> pods;
  std::array<std::unique_ptr<runtime::Store<plan::Child>>, kOtherKinds.size()> others;  // in kOtherKinds' order
};

}  // namespace espalier::ctl::controller
