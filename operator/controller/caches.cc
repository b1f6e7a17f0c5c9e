// A TrainingRecord keeps the few fields that every reconcile or poll needs, and the object as text, without bulky
// metadata. Its fingerprint is a hash of that text without status.progress and resourceVersion, which change often and
// affect no plan.
#include "operator/controller/caches.h"

#include <functional>

#include "operator/api/dist_training.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::controller {
namespace {

template <class T>
std::optional<kube::ObjectKey> Index(const T& child) {
  return FindJob(child.meta);
}

}  // namespace

std::optional<kube::ObjectKey> FindJob(const kube::ObjectMeta& meta) {
  const auto label = meta.labels.find(resources::kJobLabel);
  if (label == meta.labels.end() || label->second.empty()) return std::nullopt;
  return kube::ObjectKey{meta.key.name_space, label->second};
}

void DropBulkyAnnotations(kube::ObjectMeta* meta) {
  meta->annotations.erase("kubectl.kubernetes.io/last-applied-configuration");
}

Result<TrainingRecord> ParseTrainingRecord(const kube::Json& object) {
  TrainingRecord record;
  ASSIGN_OR_RETURN(record.meta, kube::ParseObjectMeta(object));
  DropBulkyAnnotations(&record.meta);
  record.phase = kube::StringAt(object, {"status", "phase"});
  record.incarnation = kube::IntegerAt(object, {"status", "incarnation"}).value_or(0);
  record.has_program = kube::Find(object, {"spec", "trainers", "program"}) != nullptr;
  const kube::Json* const spec = kube::Find(object, {"spec"});
  record.is_managed = spec == nullptr || api::IsManagedByEspalier(*spec);
  kube::Json kept = object;
  if (const auto meta = kept.find("metadata"); meta != kept.end() && meta->is_object()) {
    meta->erase("managedFields");
    if (const auto annotations = meta->find("annotations"); annotations != meta->end() && annotations->is_object()) {
      annotations->erase("kubectl.kubernetes.io/last-applied-configuration");
    }
  }
  record.object = kube::Print(kept);
  if (const auto status = kept.find("status"); status != kept.end() && status->is_object()) status->erase("progress");
  if (const auto meta = kept.find("metadata"); meta != kept.end() && meta->is_object()) meta->erase("resourceVersion");
  record.fingerprint = std::hash<std::string>()(kube::Print(kept));
  return record;
}

Caches::Caches()
    : jobs(Index<kube::Job>),
      stateful_sets(Index<kube::StatefulSet>),
      pods(Index<kube::Pod>),
      workloads(Index<kube::QueuedWorkload>),
      pod_groups(Index<kube::PodGroup>) {
  for (auto& store : others) store = std::make_unique<runtime::Store<plan::Child>>(Index<plan::Child>);
}

}  // namespace espalier::ctl::controller
