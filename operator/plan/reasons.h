// Reasons of conditions, of last_error, of restarts and of events. A closed set of constants, so that users can wait
// for them and alert on them.
#pragma once

namespace espalier::ctl::plan {

// Accepted
inline constexpr char kValid[] = "Valid";
inline constexpr char kInvalidSpec[] = "InvalidSpec";
inline constexpr char kInvalidTemplate[] = "InvalidTemplate";
inline constexpr char kNotAllowed[] = "NotAllowed";  // by the administrator's policy on pods

// Partitioned, ServersReady, TrainersReady
inline constexpr char kWaiting[] = "Waiting";  // for an earlier stage
inline constexpr char kPartitioning[] = "Partitioning";
inline constexpr char kPartitionFound[] = "PartitionReady";
inline constexpr char kStarting[] = "Starting";
inline constexpr char kAllReady[] = "AllReady";
inline constexpr char kNotAllReady[] = "NotAllReady";
inline constexpr char kBackoff[] = "Backoff";              // until the next attempt
inline constexpr char kOldPodsRemain[] = "OldPodsRemain";  // of an earlier incarnation or attempt
inline constexpr char kJobEnded[] = "JobEnded";
inline constexpr char kHeldByContainers[] = "HeldByContainers";  // pods are held (program_pod.h)

// Suspended
inline constexpr char kSuspending[] = "Suspending";
inline constexpr char kNoPodsLeft[] = "NoPodsLeft";

// QuotaReserved
inline constexpr char kAdmitted[] = "Admitted";                  // by Kueue; the only reason of status True
inline constexpr char kPending[] = "Pending";                    // in the queue
inline constexpr char kEvicted[] = "Evicted";                    // by Kueue; the quota is released when no pod is left
inline constexpr char kWorkloadOutdated[] = "WorkloadOutdated";  // the document has changed; its Workload is replaced
inline constexpr char kNotQueued[] = "NotQueued";                // the label was removed, or runPolicy.suspend is true
inline constexpr char kKueueDisabled[] = "KueueDisabled";        // the operator does not use Kueue
inline constexpr char kKueueUnavailable[] = "KueueUnavailable";  // Workloads cannot be listed
inline constexpr char kFlavorUnavailable[] = "FlavorUnavailable";
inline constexpr char kPriorityUnavailable[] = "PriorityClassUnavailable";

// Blockers: problems that a user or administrator can fix and that do not count as failures of the job.
inline constexpr char kSecretMissing[] = "SecretMissing";
inline constexpr char kSecretKeyMissing[] = "SecretKeyMissing";
inline constexpr char kNameTaken[] = "NameTaken";  // an object of another owner has the name of a child
inline constexpr char kRefused[] = "Refused";      // the API server refuses to create or change a child
inline constexpr char kFailedCreate[] = "FailedCreate";
inline constexpr char kJobSuspended[] = "JobSuspended";                  // another writer has set spec.suspend of a Job
inline constexpr char kPodGroupsUnavailable[] = "PodGroupsUnavailable";  // PodGroups cannot be listed
inline constexpr char kUnschedulable[] = "Unschedulable";
inline constexpr char kFailedMount[] = "FailedMount";
inline constexpr char kImagePull[] = "ImagePullBackOff";
inline constexpr char kContainerConfig[] = "CreateContainerConfigError";
inline constexpr char kContainerCreation[] = "CreateContainerError";
inline constexpr char kCrashLoop[] = "CrashLoopBackOff";

// Failures of pods, ranked in failure.h, besides the names of telemetry::TerminationReason.
inline constexpr char kOutOfMemory[] = "OOMKilled";
inline constexpr char kSignal[] = "Signal";
inline constexpr char kDisrupted[] = "Disrupted";
inline constexpr char kNodeLost[] = "NodeLost";
inline constexpr char kPodRejected[] = "PodRejected";      // by the kubelet: no container has run
inline constexpr char kScriptChanged[] = "ScriptChanged";  // the pod found another script than status.script
inline constexpr char kOtherExit[] = "UnknownExitCode";
inline constexpr char kResultLost[] = "ResultLost";        // the partitioner's result or script digest was not read
inline constexpr char kNoEvidence[] = "JobFailed";         // no pod gives a cause
inline constexpr char kSidecarFailed[] = "SidecarFailed";  // another container failed; the program containers succeeded

// Causes of a trainer group's failure that its pods do not report (trainer_failure.h). Counted means: towards
// runPolicy.backoffLimit.
inline constexpr char kHeldBack[] = "HeldBack";                          // some trainers could not start; not counted
inline constexpr char kServerLost[] = "ServerLost";                      // a server's pod was replaced; not counted
inline constexpr char kCertificatesReplaced[] = "CertificatesReplaced";  // exit code 77 for that reason; not counted
inline constexpr char kStoppedSoon[] = "StoppedSoon";    // exit code 75 soon after the start; not counted
inline constexpr char kStoppedAgain[] = "StoppedAgain";  // StoppedSoon in the next attempt too; counted

// For an event only: the job has succeeded, with warnings about its data or metrics (docs/outputs.md, Warnings).
inline constexpr char kTrainedWithWarnings[] = "TrainedWithWarnings";

// Restarts for other reasons, not counted
inline constexpr char kResumed[] = "Resumed";
inline constexpr char kScaled[] = "Scaled";
inline constexpr char kJobDeleted[] = "JobDeleted";  // by another writer

// Restarting
inline constexpr char kCollecting[] = "CollectingReasons";  // the Job is failing; its pods' reasons are being collected
inline constexpr char kRecovered[] = "Recovered";           // the next Job runs; status False

// Succeeded, Failed: besides the reasons of failures that are never retried.
inline constexpr char kCompleted[] = "Completed";
inline constexpr char kBackoffLimitExceeded[] = "BackoffLimitExceeded";
inline constexpr char kDeadlineExceeded[] = "DeadlineExceeded";

}  // namespace espalier::ctl::plan
