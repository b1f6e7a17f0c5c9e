// A changed object in a cache adds the object's job to the queue; a worker takes the job and runs one reconcile. The
// stale guard delays a reconcile until the caches show the operator's own last writes: otherwise a child that was just
// created would look missing. A failed reconcile is retried with exponential backoff; a plan may requeue its job for a
// later time.
#include "operator/controller/controller.h"

#include <algorithm>
#include <utility>

#include "operator/controller/apply.h"
#include "operator/controller/informers.h"
#include "operator/controller/observe.h"
#include "operator/controller/recent_trainings.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::controller {
namespace {

// No watch reports a change of quotas or permissions, so a refused action is retried after at most this time.
constexpr std::chrono::nanoseconds kRefusalRetryInterval = std::chrono::seconds(10);
// The longest delay before a failed reconcile is retried, even during an outage of the API server.
constexpr std::chrono::seconds kMaxReconcileBackoff{30};

ControllerOptions WithDefaults(ControllerOptions options) {
  if (!options.wall_clock) options.wall_clock = kube::SystemTime;
  if (!options.fetch_status) options.fetch_status = FetchStatus;
  return options;
}

InformersOptions MakeInformersOptions(const ControllerOptions& options) {
  return {.name_space = options.name_space,
          .kueue = options.kueue,
          .pod_groups = options.gang_scheduling,
          .min_watch = options.min_watch,
          .max_watch = options.max_watch,
          .seed = options.seed};
}

}  // namespace

class Controller::Impl {
 public:
  Impl(client::ApiClient& client, runtime::EventRecorder& events, ControllerOptions options,
       telemetry::MetricRegistry& registry, Clock& clock)
      : client_(client),
        options_(WithDefaults(std::move(options))),
        metrics_(registry),
        memory_(options_.wall_clock),
        guard_(std::chrono::seconds(30), clock),
        applier_(client, guard_, events, memory_, metrics_, options_.defaults.cluster_domain, options_.pod_policy),
        queue_({.max_delay = kMaxReconcileBackoff}, registry, clock),
        informers_(client, MakeInformersOptions(options_), caches_, MakeHandlers(), registry, clock),
        workers_(
            queue_, [this](const kube::ObjectKey& key) { return Reconcile(key); }, options_.num_workers, registry),
        progress_(client, caches_, metrics_, {}, options_.wall_clock, options_.fetch_status) {}

  void StartCaches() { informers_.Start(); }
  Status WaitForCaches(Deadline deadline) { return informers_.WaitForSync(deadline).While("filling the caches"); }

  void StartWorkers() {
    workers_.Start();
    if (options_.poll_progress) progress_.Start();
  }

  bool Drain(Deadline deadline) { return workers_.Stop(deadline); }

  bool Stop(Deadline deadline) {
    const bool ended = Drain(deadline);
    progress_.Stop();
    informers_.Stop();
    return ended;
  }

  runtime::ReconcileOutcome Reconcile(const kube::ObjectKey& key) {
    const std::shared_ptr<const TrainingRecord> record = caches_.trainings.Get(key);
    if (record == nullptr) {
      guard_.Forget(key);
      memory_.Forget(key);
      trainings_.Forget(key);
      return {};
    }
    const auto seen = [this](const kube::Resource& resource) { return informers_.SeenVersion(resource); };
    if (!guard_.IsFresh(key, seen)) {
      runtime::ReconcileOutcome outcome;
      outcome.stale = true;
      return outcome;
    }
    Result<runtime::ReconcileOutcome> outcome = ReconcileRecord(record);
    if (outcome.ok()) return *std::move(outcome);
    return {.status = std::move(outcome).status()};
  }

  const Caches& caches() const { return caches_; }
  void PollProgressOnce() { progress_.PollOnce(); }

 private:
  ChangeHandlers MakeHandlers() {
    return {[this](const kube::ObjectKey& job) { queue_.Add(job); },
            [this](const TrainingRecord* before, const TrainingRecord* after) { metrics_.OnTraining(before, after); }};
  }

  Result<runtime::ReconcileOutcome> ReconcileRecord(const std::shared_ptr<const TrainingRecord>& record);

  client::ApiClient& client_;
  const ControllerOptions options_;
  ControllerMetrics metrics_;
  Caches caches_;
  JobMemory memory_;
  RecentTrainings trainings_;
  runtime::StaleGuard guard_;
  Applier applier_;
  runtime::WorkQueue queue_;
  Informers informers_;
  runtime::Workers workers_;
  ProgressPoller progress_;
};

Result<runtime::ReconcileOutcome> Controller::Impl::ReconcileRecord(
    const std::shared_ptr<const TrainingRecord>& record) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const api::DistTraining> read, trainings_.Read(record));
  const api::DistTraining& training = *read;
  const kube::WallTime now = options_.wall_clock();
  plan::Observed seen = ObserveCaches(training, caches_, memory_);
  seen.queue.is_enabled = options_.kueue;
  if (options_.kueue) seen.queue.list_error = informers_.ListError(kube::kWorkloads);
  seen.gangs.is_enabled = options_.gang_scheduling;
  seen.gangs.is_missing = informers_.IsMissing(kube::kPodGroups);
  if (!seen.gangs.is_missing) seen.gangs.list_error = informers_.ListError(kube::kPodGroups);
  if (!training.meta.deletion_requested_at) RETURN_IF_ERROR(ReadConflictingObjects(training, client_, memory_, &seen));
  RETURN_IF_ERROR(PerformLookups(plan::CollectLookups(training, seen, now), training, client_, memory_, now, &seen));
  const plan::Plan plan = plan::MakePlan(training, seen, options_.defaults, now);
  ASSIGN_OR_RETURN(const Applied applied, applier_.Apply(training, plan));

  if (applied.wrote_status) {
    telemetry::Log(telemetry::Level::kInfo, "status written",
                   {{"job", kube::ToString(training.meta.key)},
                    {"phase", api::ToString(plan.status.phase)},
                    {"incarnation", plan.status.incarnation},
                    {"actions", plan.actions.size()}});
  }
  runtime::ReconcileOutcome outcome;
  outcome.requeue_after = plan.requeue_after;
  if (applied.is_refused) {
    // A plan may request an immediate requeue, to continue after its actions. After a refusal, an immediate requeue
    // would retry the refused action in a tight loop.
    const auto wanted = plan.requeue_after.value_or(kRefusalRetryInterval);
    outcome.requeue_after =
        wanted > std::chrono::nanoseconds(0) ? std::min(kRefusalRetryInterval, wanted) : kRefusalRetryInterval;
  }
  if (applied.requeue_now) outcome.requeue_after = std::chrono::nanoseconds(0);
  return outcome;
}

Controller::Controller(client::ApiClient& client, runtime::EventRecorder& events, ControllerOptions options,
                       telemetry::MetricRegistry& metrics, Clock& clock)
    : impl_(std::make_unique<Impl>(client, events, std::move(options), metrics, clock)) {}
Controller::~Controller() { Stop(Deadline::After(std::chrono::seconds(30))); }

void Controller::StartCaches() { impl_->StartCaches(); }
Status Controller::WaitForCaches(Deadline deadline) { return impl_->WaitForCaches(deadline); }
void Controller::StartWorkers() { impl_->StartWorkers(); }
bool Controller::Drain(Deadline deadline) { return impl_->Drain(deadline); }
bool Controller::Stop(Deadline deadline) { return impl_->Stop(deadline); }
runtime::ReconcileOutcome Controller::Reconcile(const kube::ObjectKey& key) { return impl_->Reconcile(key); }
const Caches& Controller::caches() const { return impl_->caches(); }
void Controller::PollProgressOnce() { impl_->PollProgressOnce(); }

}  // namespace espalier::ctl::controller
