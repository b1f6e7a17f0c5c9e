#include "operator/plan/acceptance.h"
#include "operator/plan/blockers.h"
#include "operator/plan/certificate_stage.h"
#include "operator/plan/changes.h"
#include "operator/plan/cleanup.h"
#include "operator/plan/final_progress.h"
#include "operator/plan/job_failure.h"
#include "operator/plan/make_status.h"
#include "operator/plan/outcome.h"
#include "operator/plan/partition_stage.h"
#include "operator/plan/plan.h"
#include "operator/plan/server_stage.h"
#include "operator/plan/suspension.h"
#include "operator/plan/trainer_stage.h"

namespace espalier::ctl::plan {
namespace {

// Another controller's job is left alone. Nothing is made for one that is being deleted: owner references do the rest.
bool IsOurTask(const api::DistTraining& training) {
  return api::IsInOurCharge(training.raw_spec) && !training.meta.deletion_requested_at;
}

// But where it is deleted in the foreground it waits for its pods, and so for those of dead nodes.
Plan PlanForADeletedJob(const api::DistTraining& training, const Observed& seen, const Defaults& defaults,
                        kube::WallTime now) {
  const World world(training, seen);
  PlanBuilder builder(training, seen, world, defaults, now);
  ShortenGraceOfHeldPods(builder);
  ForceDeleteLostPods(builder);
  return std::move(builder).Finish();
}

// A suspension that has begun is carried through, so that what was changed meanwhile (images, templates) holds for
// every pod afterwards; so is one that Accept knows of only by what it changed. A suspended job that cannot be resumed
// as it is now stays suspended.
bool IsToRest(const PlanBuilder& builder) {
  if (builder.run_policy().suspend) return true;
  const api::Condition* suspended = api::FindCondition(builder.status(), api::kSuspended);
  if (suspended != nullptr && suspended->reason == kSuspending) return true;
  return api::IsTrue(builder.status(), api::kSuspended) && !IsAccepted(builder.training(), builder.seen());
}

void Run(PlanBuilder& builder) {
  DetectBlockers(builder);
  if (DecideOutcome(builder)) return;
  if (IsToRest(builder)) return Suspend(builder);
  StartOrResume(builder);
  if (HasRunOutOfTime(builder)) return;
  MakeShared(builder);
  MakeCertificates(builder);
  const bool services_are_ready = Partition(builder) && Serve(builder);
  if (!api::IsTerminal(builder.status())) Train(builder, services_are_ready);
}

// A job that has begun and whose document this operator does not take any more, as after an upgrade: what needs no
// document is done. The trainers' end is seen, and the deadline; nothing new is made but certificates. A partition Job
// runs on, and is looked at once the document is mended, which says where its result lies.
void FollowWithoutSpec(PlanBuilder& builder) {
  builder.BlockChanges({.reason = kInvalidSpec, .message = builder.training().violations});
  if (DecideOutcome(builder)) return;
  if (IsToRest(builder)) return Suspend(builder);
  if (HasRunOutOfTime(builder)) return;
  RenewCertificates(builder);
  if (builder.status().incarnation > 0) Train(builder, /*services_are_ready=*/false);
}

void Go(PlanBuilder& builder) {
  if (Accept(builder)) return Run(builder);
  if (!builder.training().spec && builder.status().started_at) FollowWithoutSpec(builder);
}

}  // namespace

Plan MakePlan(const api::DistTraining& training, const Observed& seen, const Defaults& defaults, kube::WallTime now) {
  if (!api::IsInOurCharge(training.raw_spec)) {
    return {.status = training.status, .actions = {}, .events = {}, .requeue_after = {}};
  }
  if (training.meta.deletion_requested_at) return PlanForADeletedJob(training, seen, defaults, now);
  const World world(training, seen);
  PlanBuilder builder(training, seen, world, defaults, now);
  if (!api::IsTerminal(builder.status())) Go(builder);
  PublishFinalProgress(builder);
  if (api::IsTerminal(builder.status())) CleanUp(builder);
  ShortenGraceOfHeldPods(builder);
  ForceDeleteLostPods(builder);
  Summarize(builder);
  NoteChanges(builder);
  return std::move(builder).Finish();
}

Questions CollectQuestions(const api::DistTraining& training, const Observed& seen, kube::WallTime now) {
  if (!IsOurTask(training)) return {};
  Questions questions;
  questions.certificates = !training.spec || training.spec->tls == api::TlsMode::kManaged;
  if (api::IsTerminal(training.status)) {
    questions.certificates = questions.certificates && KeepsServers(training, World(training, seen));
    return questions;
  }
  if (api::EffectiveRunPolicy(training).suspend) return {};
  if (!IsAccepted(training, seen)) {  // what it runs with is kept good all the same
    const bool runs_on = training.status.started_at && !api::IsTrue(training.status, api::kSuspended);
    questions.certificates = questions.certificates && runs_on;
    return questions;
  }
  questions.referenced_secrets = !api::IsTrue(training.status, api::kTrainersReady);
  const World world(training, seen);
  if (questions.certificates) questions.certificates_read_since = CertificatesReadSince(training, world, now);
  questions.creation_failures_of = ControllersMissingPods(training, world, now);
  questions.mount_failures_of = WaitingForVolumes(training, world, now);
  questions.vanished_jobs = VanishedJobs(training, world);
  questions.unseen_pods_of = EndedWithoutPods(training, world);
  questions.suspended_jobs = SuspendedJobs(training, world);
  return questions;
}

}  // namespace espalier::ctl::plan
