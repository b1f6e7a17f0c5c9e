// One informer per kind fills one store. A change of a child wakes the job that its label names. A change of a
// DistTraining always updates the metrics, but wakes the job only if more than status.progress or the resourceVersion
// changed (TrainingRecord::fingerprint): the operator's own progress writes would otherwise trigger a reconcile each.
#include "operator/controller/informers.h"

#include <utility>

#include "operator/resources/labels.h"
#include "services/base/check.h"

namespace espalier::ctl::controller {
namespace {

using Wake = std::function<void(const kube::ObjectKey&)>;

// Stores each child as `parse` reads it and wakes the job of its label, or both jobs if the label changed.
template <class T>
std::unique_ptr<runtime::ObjectSink> SinkOfChildren(runtime::Store<T>& store,
                                                    std::function<Result<T>(const kube::Json&)> parse, Wake wake) {
  return std::make_unique<runtime::StoreSink<T>>(
      store,
      [parse = std::move(parse)](const kube::Json& object) -> Result<T> {
        ASSIGN_OR_RETURN(T child, parse(object));
        DropBulkyAnnotations(&child.meta);
        return child;
      },
      [wake = std::move(wake)](const std::shared_ptr<const T>& before, const std::shared_ptr<const T>& after) {
        // A relist repeats objects that have not changed.
        if (before && after && before->meta.resource_version == after->meta.resource_version) return;
        const auto old_job = before ? FindJob(before->meta) : std::nullopt;
        const auto new_job = after ? FindJob(after->meta) : std::nullopt;
        if (old_job && old_job != new_job) wake(*old_job);
        if (new_job) wake(*new_job);
      });
}

Result<plan::Child> ParseChild(const kube::Resource* resource, const kube::Json& object) {
  plan::Child child;
  child.resource = resource;
  ASSIGN_OR_RETURN(child.meta, kube::ParseObjectMeta(object));
  return child;
}

std::unique_ptr<runtime::ObjectSink> SinkOfTrainings(Caches& caches, const ChangeHandlers& handlers) {
  return std::make_unique<runtime::StoreSink<TrainingRecord>>(
      caches.trainings, ParseTrainingRecord,
      [handlers](const std::shared_ptr<const TrainingRecord>& before,
                 const std::shared_ptr<const TrainingRecord>& after) {
        if (before && after && before->meta.resource_version == after->meta.resource_version) return;
        handlers.training_changed(before.get(), after.get());
        if (before && after && before->fingerprint == after->fingerprint) return;  // only progress changed
        const auto& known = after ? after : before;
        ESPALIER_CHECK(known != nullptr);
        handlers.wake(known->meta.key);
      });
}

}  // namespace

Informers::Informers(client::ApiClient& client, const InformersOptions& options, Caches& caches,
                     ChangeHandlers handlers, telemetry::MetricRegistry& metrics, Clock& clock) {
  const auto add = [this](const kube::Resource* resource, std::unique_ptr<runtime::ObjectSink> sink) {
    Kind& kind = kinds_.emplace_back();
    kind.resource = resource;
    kind.sink = std::move(sink);
  };
  add(&kube::kDistTrainings, SinkOfTrainings(caches, handlers));
  add(&kube::kJobs, SinkOfChildren<kube::Job>(caches.jobs, kube::ParseJob, handlers.wake));
  add(&kube::kStatefulSets,
      SinkOfChildren<kube::StatefulSet>(caches.stateful_sets, kube::ParseStatefulSet, handlers.wake));
  add(&kube::kPods, SinkOfChildren<kube::Pod>(caches.pods, kube::ParsePod, handlers.wake));
  for (size_t i = 0; i < kOtherKinds.size(); ++i) {
    const kube::Resource* const resource = kOtherKinds[i];
    auto parse = [resource](const kube::Json& object) { return ParseChild(resource, object); };
    add(resource, SinkOfChildren<plan::Child>(*caches.others[i], parse, handlers.wake));
  }
  if (options.kueue) {
    add(&kube::kWorkloads,
        SinkOfChildren<kube::QueuedWorkload>(caches.workloads, kube::ParseQueuedWorkload, handlers.wake));
  }
  if (options.pod_groups) {
    add(&kube::kPodGroups, SinkOfChildren<kube::PodGroup>(caches.pod_groups, kube::ParsePodGroup, handlers.wake));
  }
  for (size_t i = 0; i < kinds_.size(); ++i) {
    runtime::InformerOptions informer;
    informer.resource = kinds_[i].resource;
    informer.name_space = options.name_space;
    if (kinds_[i].resource != &kube::kDistTrainings) informer.label_selector = resources::kManagedBySelector;
    informer.min_watch = options.min_watch;
    informer.max_watch = options.max_watch;
    informer.seed = options.seed * 16 + i;  // different seeds, so that watches do not end together
    kinds_[i].informer = std::make_unique<runtime::Informer>(client, informer, *kinds_[i].sink, metrics, clock);
  }
}

Informers::~Informers() { Stop(); }

void Informers::Start() {
  for (Kind& kind : kinds_) kind.informer->Start();
}

void Informers::Stop() {
  for (Kind& kind : kinds_) kind.informer->Cancel();
  for (Kind& kind : kinds_) kind.informer->Stop();
}

Status Informers::WaitForSync(Deadline deadline) {
  std::string missing;
  for (Kind& kind : kinds_) {
    const bool may_fail = *kind.resource == kube::kWorkloads || *kind.resource == kube::kPodGroups;
    if (may_fail ? kind.informer->WaitForFirstList(deadline) : kind.informer->WaitForSync(deadline)) continue;
    if (may_fail && !kind.informer->last_error().empty()) continue;
    if (!missing.empty()) missing += ", ";
    missing += kind.resource->plural;
    if (const std::string error = kind.informer->last_error(); !error.empty()) missing += " (" + error + ")";
  }
  if (missing.empty()) return Status();
  return DeadlineExceeded("no list of " + missing + " has arrived in time");
}

std::string Informers::ListError(const kube::Resource& resource) const {
  for (const Kind& kind : kinds_) {
    if (*kind.resource != resource || kind.informer->has_synced()) continue;
    const std::string error = kind.informer->last_error();
    return error.empty() ? "no list has arrived yet" : error;
  }
  return "";
}

bool Informers::IsMissing(const kube::Resource& resource) const {
  for (const Kind& kind : kinds_) {
    if (*kind.resource == resource) return kind.informer->last_code() == StatusCode::kNotFound;
  }
  return false;
}

std::string Informers::SeenVersion(const kube::Resource& resource) const {
  for (const Kind& kind : kinds_) {
    if (*kind.resource == resource) return kind.informer->resource_version();
  }
  return "";
}

}  // namespace espalier::ctl::controller
