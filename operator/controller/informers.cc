// One informer per kind fills one store. A change of a child wakes the job that its label names. A change of a
// DistTraining always updates the metrics, but wakes the job only if more than status.progress and the resourceVersion
// changed (TrainingRecord::fingerprint): otherwise each of the operator's own progress writes would cause a reconcile.
#include "operator/controller/informers.h"

#include <utility>

#include "operator/resources/labels.h"
#include "services/base/check.h"

namespace espalier::ctl::controller {
namespace {

using Wake = std::function<void(const kube::ObjectKey&)>;

// Returns a sink that stores each child as `parse` reads it, but without bulky annotations, and wakes the job that its
// label names, or both jobs if the label changed.
template <class T>
std::unique_ptr<runtime::ObjectSink> MakeChildSink(runtime::Store<T>& store,
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

std::unique_ptr<runtime::ObjectSink> MakeTrainingSink(Caches& caches, const ChangeHandlers& handlers) {
  return std::make_unique<runtime::StoreSink<TrainingRecord>>(
      caches.trainings, ParseTrainingRecord,
      [handlers](const std::shared_ptr<const TrainingRecord>& before,
                 const std::shared_ptr<const TrainingRecord>& after) {
        if (before && after && before->meta.resource_version == after->meta.resource_version) return;
        handlers.training_changed(before.get(), after.get());
        if (before && after && before->fingerprint == after->fingerprint) return;  // only progress changed
        const auto& record = after ? after : before;
        ESPALIER_CHECK(record != nullptr);
        handlers.wake(record->meta.key);
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
  add(&kube::kDistTrainings, MakeTrainingSink(caches, handlers));
  add(&kube::kJobs, MakeChildSink<kube::Job>(caches.jobs, kube::ParseJob, handlers.wake));
  add(&kube::kStatefulSets,
      MakeChildSink<kube::StatefulSet>(caches.stateful_sets, kube::ParseStatefulSet, handlers.wake));
  add(&kube::kPods, MakeChildSink<kube::Pod>(caches.pods, kube::ParsePod, handlers.wake));
  for (size_t i = 0; i < kMetadataOnlyKinds.size(); ++i) {
    const kube::Resource* const resource = kMetadataOnlyKinds[i];
    auto parse = [resource](const kube::Json& object) { return ParseChild(resource, object); };
    add(resource, MakeChildSink<plan::Child>(*caches.others[i], parse, handlers.wake));
  }
  if (options.kueue) {
    add(&kube::kWorkloads,
        MakeChildSink<kube::QueuedWorkload>(caches.workloads, kube::ParseQueuedWorkload, handlers.wake));
  }
  if (options.pod_groups) {
    add(&kube::kPodGroups, MakeChildSink<kube::PodGroup>(caches.pod_groups, kube::ParsePodGroup, handlers.wake));
  }
  for (size_t i = 0; i < kinds_.size(); ++i) {
    runtime::InformerOptions informer;
    informer.resource = kinds_[i].resource;
    informer.name_space = options.name_space;
    if (kinds_[i].resource != &kube::kDistTrainings) informer.label_selector = resources::kManagedBySelector;
    informer.min_watch = options.min_watch;
    informer.max_watch = options.max_watch;
    informer.seed = options.seed * 16 + i;  // different seeds, so that the watches do not end at the same time
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
