// The stages of a job's life, in the order in which make_plan.cc runs them. Each looks at the world, writes what it
// finds to the status, and plans what it lacks; all may be run any number of times.
#pragma once

#include "operator/plan/draft.h"

namespace espalier::ctl::plan {

// acceptance.cc ---------------------------------------------------------------------------------------------------
// Is the spec valid, and do the roles' templates pass a dry run? False: nothing more to plan for now.
bool Accept(Draft& draft);
// Accepted for this generation, or about to be by what has been seen.
bool IsAccepted(const api::DistTraining& training, const Observed& seen);
// Whether the API server was asked about this generation's templates, and refuses them.
bool AreTemplatesRefused(const api::DistTraining& training, const Observed& seen);

// troubles.cc -----------------------------------------------------------------------------------------------------
// Missing Secrets and refused objects, before anything else.
void FindTroubles(Draft& draft);
// What keeps `role` from getting ready: the whole job's trouble, or its pods' (pending ones first).
std::optional<Trouble> TroubleOf(Draft& draft, api::Role role);
// Uids of Jobs and StatefulSets of ours that have lacked pods for kPodsMissing.
inline constexpr std::chrono::seconds kPodsMissing{3};
std::vector<std::string> LackingPods(const api::DistTraining& training, const World& world, kube::WallTime now);
// Uids of pods whose containers have not been made for kPodsMissing and whose template has volumes that are not ours:
// one of each role, as what keeps one from them keeps the others too.
std::vector<std::string> WaitingForVolumes(const api::DistTraining& training, const World& world, kube::WallTime now);
// Whether the pod is on a node and none of its containers is made yet: it waits for images and volumes.
bool WaitsForItsContainers(const kube::Pod& pod);
// Names of the Jobs under way that another writer has suspended.
std::vector<std::string> SuspendedJobs(const api::DistTraining& training, const World& world);
// What may be mended from outside, of pods that cannot be started.
bool IsInTheWay(const std::string& reason);
// Writes or clears status.last_error by the troubles met.
void WriteTrouble(Draft& draft);

// job_failure.cc --------------------------------------------------------------------------------------------------
// Why the Job fails, once nothing stronger can come: a Job that begins to fail is followed for kCollect, while its
// pods' ends arrive, and for as long as none of them tells a cause while others are still ending. nullopt: it does not
// fail, or its reasons are still being collected. `bad_input`: of its pods.
inline constexpr std::chrono::seconds kCollect{3};
// How long at most pods are waited for that are still ending: a grace period and a forced deletion.
inline constexpr std::chrono::minutes kLongestSilence{10};
std::optional<Failure> SettledFailure(Draft& draft, const JobRun& run, BadInputOnTheWayOut bad_input);
// Names of the Jobs under way that have ended, or are failing, and of which the cache shows no pod: they may be gone,
// with what they had to say, or the cache is behind.
std::vector<std::string> EndedWithoutPods(const api::DistTraining& training, const World& world);
// Names of those that were seen before and that the caches do not show: they may only be behind.
std::vector<std::string> VanishedJobs(const api::DistTraining& training, const World& world);
// Whether the API server has said of one of these that it is not there.
bool IsGone(const Draft& draft, const std::string& job);
// Counts, and fails the job where it may not be tried again. True: another attempt may follow.
bool MayRetry(Draft& draft, api::Role role, const Failure& failure);
// The status says why the next attempt is begun, and from when its delay counts.
void BeginRestart(Draft& draft, const std::string& reason, const std::string& message);
// Restarting=False where it was true.
void EndRestart(Draft& draft, const std::string& message);

// outcome.cc ------------------------------------------------------------------------------------------------------
// Succeeded by a trainer Job that is complete, Failed by hopeless servers and samplers: true. So where a trainer Job is
// about to be complete, for which nothing is to be done. Else false.
bool DecideOutcome(Draft& draft);
// Fails the job once activeDeadlineSeconds have passed since the last start or resume. Called after DecideOutcome: a
// job whose trainers have all succeeded has its outcome, whatever else runs in their pods.
bool HasRunOutOfTime(Draft& draft);
void Succeed(Draft& draft);
void Fail(Draft& draft, const std::string& reason, const std::string& message);

// suspension.cc ---------------------------------------------------------------------------------------------------
void Suspend(Draft& draft);
// After a suspension, or for the first time.
void StartOrResume(Draft& draft);

// partition_stage.cc ----------------------------------------------------------------------------------------------
bool Partition(Draft& draft);  // true: status.partition is known

// certificate_stage.cc --------------------------------------------------------------------------------------------
void MakeCertificates(Draft& draft);
// Returns the time since which the operator's certificates must have been read for this plan: pods that cannot mount
// them, or that end because of them, show that what is remembered is out of date. nullopt: no pod says so.
std::optional<kube::WallTime> CertificatesReadSince(const api::DistTraining& training, const World& world,
                                                    kube::WallTime now);
// Returns whether the operator's certificates are missing, expired, or were issued after `job` was created. A Job that
// was started because of new certificates also counts for kMountDelay: kubelets may have mounted the old ones.
bool CertificatesAreReplaced(const Draft& draft, const kube::Job& job);
void RenewCertificates(Draft& draft);  // those that are there, whatever the document says by now
void MakeShared(Draft& draft);         // what all roles' pods need

// server_stage.cc -------------------------------------------------------------------------------------------------
// True: there are as many servers and samplers as trainers need to begin.
bool Serve(Draft& draft);

// trainer_stage.cc ------------------------------------------------------------------------------------------------
void Train(Draft& draft, bool services_are_ready);
// For an incarnation that follows: writes number, replicas and reason ahead.
void BeginIncarnation(Draft& draft, const std::string& reason, const std::string& message);

// final_progress.cc -----------------------------------------------------------------------------------------------
void TellFinalProgress(Draft& draft);  // of a job that has succeeded
// They are in the API server already, with the pod that the caches still show at work: its Job must not go before them.
bool HasLastWordsToCome(const Draft& draft, const JobRun& run);

// cleanup.cc ------------------------------------------------------------------------------------------------------
void CleanUp(Draft& draft);  // of a job that has ended: cleanPodPolicy and ttl
// Whether there are any, and stay when the job ends: they serve on, for whoever looks into them.
bool KeepsServers(const api::DistTraining& training, const World& world);
void DeleteSets(Draft& draft);  // servers and samplers
// When a pod that was asked to end counts as lost with its node; nullopt: it was not asked.
std::optional<kube::WallTime> GivenUpAt(const Draft& draft, const kube::Pod& pod);
// Deletes a pod that other containers than the program's hold (program_pod.h), with a grace period of kHeldGrace.
void DeleteHeldPod(Draft& draft, const kube::Pod& pod);
void ShortenGraceOfHeldPods(Draft& draft);  // of those that are being deleted
void ForceDeleteLostPods(Draft& draft);     // of this job, and of one before it whose pods keep names from ours

// make_status.cc --------------------------------------------------------------------------------------------------
void Summarize(Draft& draft);  // phase, replicas, children
api::Phase PhaseOf(const api::Status& status);

// changes.cc ------------------------------------------------------------------------------------------------------
void NoteChanges(Draft& draft);  // events, from the stored status to this one

}  // namespace espalier::ctl::plan
