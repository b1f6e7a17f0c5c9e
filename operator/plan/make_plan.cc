// The stages of a plan in order: blockers, outcome, suspension, deadline, shared objects, certificates, partitioner,
// servers, trainers. An outcome, a suspension or an exceeded deadline ends the stages. The servers wait for the
// partitioner, and the trainers for the servers, but an incarnation of the trainers that has begun is observed even
// while the partitioner or the servers are not ready. Clean-up, forced deletions, the status summary, the queue and
// events come last.
#include "operator/plan/acceptance.h"
#include "operator/plan/blockers.h"
#include "operator/plan/certificate_stage.h"
#include "operator/plan/changes.h"
#include "operator/plan/cleanup.h"
#include "operator/plan/final_progress.h"
#include "operator/plan/gangs.h"
#include "operator/plan/job_failure.h"
#include "operator/plan/make_status.h"
#include "operator/plan/outcome.h"
#include "operator/plan/partition_stage.h"
#include "operator/plan/plan.h"
#include "operator/plan/queue_stage.h"
#include "operator/plan/quota.h"
#include "operator/plan/server_stage.h"
#include "operator/plan/suspension.h"
#include "operator/plan/trainer_stage.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::plan {
namespace {

// Returns whether the operator plans all stages for the job. It does not change a job that another controller manages.
// It creates nothing for a job that is being deleted: the garbage collector deletes the children.
bool PlansAllStages(const api::DistTraining& training) {
  return api::IsManagedByEspalier(training.raw_spec) && !training.meta.deletion_requested_at;
}

// A foreground deletion waits for the job's pods, so pods on lost nodes must still be deleted by force.
Plan PlanForDeletedJob(const api::DistTraining& training, const Observed& seen, const Defaults& defaults,
                       kube::WallTime now) {
  const World world(training, seen);
  PlanBuilder builder(training, seen, world, defaults, now);
  ShortenGraceOfHeldPods(builder);
  ForceDeleteLostPods(builder);
  return std::move(builder).Finish();
}

// Returns whether the job must be suspended or stay suspended. A suspension that has begun is completed even if the
// document no longer asks for it, so that every pod gets the changes that were made meanwhile (images, templates). That
// includes a suspension that the operator did not observe: Accept infers it from a change that is allowed only while a
// job is suspended. A suspended job whose current document is not accepted stays suspended.
bool MustBeSuspended(const PlanBuilder& builder) {
  if (builder.run_policy().suspend) return true;
  if (AwaitsQuota(builder.training(), builder.status(), builder.seen())) return true;
  const api::Condition* suspended = api::FindCondition(builder.status(), api::kSuspended);
  if (suspended != nullptr && suspended->reason == kSuspending) return true;
  return api::IsTrue(builder.status(), api::kSuspended) && !IsAccepted(builder.training(), builder.seen());
}

void RunStages(PlanBuilder& builder) {
  DetectBlockers(builder);
  if (DecideOutcome(builder)) return;
  if (MustBeSuspended(builder)) return Suspend(builder);
  PlaceInFlavors(builder);
  StartOrResume(builder);
  if (FailAfterDeadline(builder)) return;
  ApplySharedObjects(builder);
  MakeCertificates(builder);
  const bool services_are_ready = Partition(builder) && Serve(builder);
  if (!api::IsTerminal(builder.status())) Train(builder, services_are_ready);
  DeleteOldGangs(builder);
}

// Handles a job that has begun and whose document this operator no longer accepts, for example after an upgrade. The
// end of the trainers and the deadline are still observed, because that needs no document, but nothing is created
// except certificates. A partition Job keeps running. Its result is read only when the document is valid again, because
// the document says where the result is.
void FollowWithoutSpec(PlanBuilder& builder) {
  builder.BlockChanges({.reason = kInvalidSpec, .message = builder.training().violations});
  if (DecideOutcome(builder)) return;
  if (MustBeSuspended(builder)) return Suspend(builder);
  if (FailAfterDeadline(builder)) return;
  RenewCertificates(builder);
  if (builder.status().incarnation > 0) Train(builder, /*services_are_ready=*/false);
}

void PlanUnfinishedJob(PlanBuilder& builder) {
  if (Accept(builder)) return RunStages(builder);
  if (!builder.training().spec && builder.status().started_at) FollowWithoutSpec(builder);
}

}  // namespace

Plan MakePlan(const api::DistTraining& training, const Observed& seen, const Defaults& defaults, kube::WallTime now) {
  if (!api::IsManagedByEspalier(training.raw_spec)) {
    return {.status = training.status, .actions = {}, .events = {}, .requeue_after = {}};
  }
  if (training.meta.deletion_requested_at) return PlanForDeletedJob(training, seen, defaults, now);
  const World world(training, seen);
  PlanBuilder builder(training, seen, world, defaults, now);
  if (!api::IsTerminal(builder.status())) PlanUnfinishedJob(builder);
  PublishFinalProgress(builder);
  if (api::IsTerminal(builder.status())) CleanUp(builder);
  ShortenGraceOfHeldPods(builder);
  ForceDeleteLostPods(builder);
  Summarize(builder);
  FollowQueue(builder);
  NoteChanges(builder);
  return std::move(builder).Finish();
}

Lookups CollectLookups(const api::DistTraining& training, const Observed& seen, kube::WallTime now) {
  if (!PlansAllStages(training)) return {};
  Lookups lookups;
  lookups.certificates = !training.spec || training.spec->tls == api::TlsMode::kManaged;
  if (api::IsTerminal(training.status)) {
    lookups.certificates = lookups.certificates && KeepsServers(training, World(training, seen));
    return lookups;
  }
  if (api::EffectiveRunPolicy(training).suspend) return {};
  if (AwaitsQuota(training, training.status, seen)) {
    Lookups of_queue;
    if (IsQueueKnown(seen)) of_queue.priority_class = resources::FindLabel(training, resources::kQueuePriorityLabel);
    return of_queue;
  }
  lookups.flavors = AdmittedFlavors(training, seen);
  if (!IsAccepted(training, seen)) {  // a job that keeps running still needs its certificates
    const bool keeps_running = training.status.started_at && !api::IsTrue(training.status, api::kSuspended);
    lookups.certificates = lookups.certificates && keeps_running;
    return lookups;
  }
  lookups.referenced_secrets = !api::IsTrue(training.status, api::kTrainersReady);
  const World world(training, seen);
  if (lookups.certificates) lookups.certificates_must_be_read_since = RequiredCertificateReadTime(training, world, now);
  lookups.creation_failures_of = ControllersMissingPods(training, world, now);
  lookups.mount_failures_of = WaitingForVolumes(training, world, now);
  lookups.vanished_jobs = VanishedJobs(training, world);
  lookups.unseen_pods_of = EndedWithoutPods(training, world);
  lookups.suspended_jobs = SuspendedJobs(training, world);
  return lookups;
}

}  // namespace espalier::ctl::plan
