// Reasons: of conditions, of last_error, of restarts, of events. A closed set of constants, so that people can wait for
// and alert on them.
#pragma once

namespace espalier::ctl::plan {

// Accepted
inline constexpr char kValid[] = "Valid";
inline constexpr char kInvalidSpec[] = "InvalidSpec";
inline constexpr char kInvalidTemplate[] = "InvalidTemplate";
inline constexpr char kNotAllowed[] = "NotAllowed";  // by the administrator's rules on what pods may use

// Partitioned, ServersReady, TrainersReady: under way, done, over
inline constexpr char kWaiting[] = "Waiting";  // for what comes before
inline constexpr char kPartitioning[] = "Partitioning";
inline constexpr char kPartitionFound[] = "PartitionReady";
inline constexpr char kStarting[] = "Starting";
inline constexpr char kAllReady[] = "AllReady";
inline constexpr char kNotAllReady[] = "NotAllReady";
inline constexpr char kBackoff[] = "Backoff";              // until the next attempt
inline constexpr char kOldPodsRemain[] = "OldPodsRemain";  // of the incarnation or attempt before
inline constexpr char kJobEnded[] = "JobEnded";
inline constexpr char kHeldByContainers[] = "HeldByContainers";  // containers run on after the program of a pod

// Suspended
inline constexpr char kSuspending[] = "Suspending";
inline constexpr char kNoPodsLeft[] = "NoPodsLeft";

// What stands in the way and may be mended from outside; no failures of the job.
inline constexpr char kSecretMissing[] = "SecretMissing";
inline constexpr char kSecretKeyMissing[] = "SecretKeyMissing";
inline constexpr char kNameTaken[] = "NameTaken";
inline constexpr char kRefused[] = "Refused";  // by the API server: an object itself
inline constexpr char kFailedCreate[] = "FailedCreate";
inline constexpr char kJobSuspended[] = "JobSuspended";  // a child, by another writer than the operator
inline constexpr char kUnschedulable[] = "Unschedulable";
inline constexpr char kFailedMount[] = "FailedMount";
inline constexpr char kImagePull[] = "ImagePullBackOff";
inline constexpr char kContainerConfig[] = "CreateContainerConfigError";
inline constexpr char kContainerCreation[] = "CreateContainerError";
inline constexpr char kCrashLoop[] = "CrashLoopBackOff";

// Failures of pods, strongest first (failure.h), beside the names of telemetry::TerminationReason.
inline constexpr char kOutOfMemory[] = "OOMKilled";
inline constexpr char kSignal[] = "Signal";
inline constexpr char kDisrupted[] = "Disrupted";
inline constexpr char kNodeLost[] = "NodeLost";
inline constexpr char kPodRejected[] = "PodRejected";      // by the kubelet: no container has run
inline constexpr char kScriptChanged[] = "ScriptChanged";  // the program's script is not the one that the job runs
inline constexpr char kOtherExit[] = "UnknownExitCode";
inline constexpr char kResultLost[] = "ResultLost";        // the partition pod is gone with what it had to say
inline constexpr char kNoEvidence[] = "JobFailed";         // without a pod that tells why
inline constexpr char kSidecarFailed[] = "SidecarFailed";  // another container's exit code, after the program succeeded

// What a group of trainers ended by, where others know more of it than its pods (trainer_failure.h).
inline constexpr char kHeldBack[] = "HeldBack";                          // some could not be started; not counted
inline constexpr char kServerLost[] = "ServerLost";                      // its pod was replaced; not counted
inline constexpr char kCertificatesReplaced[] = "CertificatesReplaced";  // 77 because of them; not counted
inline constexpr char kStoppedSoon[] = "StoppedSoon";    // a program's 75, soon after its start; not counted
inline constexpr char kStoppedAgain[] = "StoppedAgain";  // once more; counted

// Of an event only: the job has succeeded, and its data or metrics may surprise (docs/outputs.md, Warnings).
inline constexpr char kTrainedWithWarnings[] = "TrainedWithWarnings";

// Restarts for other reasons, not counted
inline constexpr char kResumed[] = "Resumed";
inline constexpr char kScaled[] = "Scaled";
inline constexpr char kJobDeleted[] = "JobDeleted";  // by somebody else

// Restarting: the Job is failing and its pods' reasons are being collected; the new incarnation runs; given up.
inline constexpr char kCollecting[] = "CollectingReasons";
inline constexpr char kRecovered[] = "Recovered";

// Succeeded, Failed: besides the reasons of failures that are never retried
inline constexpr char kCompleted[] = "Completed";
inline constexpr char kBackoffLimitExceeded[] = "BackoffLimitExceeded";
inline constexpr char kDeadlineExceeded[] = "DeadlineExceeded";

}  // namespace espalier::ctl::plan
