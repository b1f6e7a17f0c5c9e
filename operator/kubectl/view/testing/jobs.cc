#include "operator/kubectl/view/testing/jobs.h"

#include "operator/resources/labels.h"
#include "services/base/check.h"

namespace espalier::ctl::view::testing {
namespace {

using kube::Json;

constexpr char kJob[] = R"({
  "apiVersion": "espalier.io/v1alpha1",
  "kind": "DistTraining",
  "metadata": {"name": "cora", "namespace": "ml", "uid": "11111111-2222-3333-4444-555555555555", "generation": 1,
               "resourceVersion": "1", "creationTimestamp": "2026-01-02T03:00:00Z"},
  "spec": {
    "graph": {"source": {"uri": "s3://graphs/cora", "format": "OGB"}, "partitions": {"count": 2}},
    "training": {
      "task": {"type": "NodeClassification", "split": "public"},
      "inputs": [{"features": ["node-feat"]}],
      "model": {"type": "GraphSAGE"},
      "sampling": {"layers": [{"fanout": 25}, {"fanout": 10}]},
      "epochs": 10
    },
    "trainers": {"replicas": 2},
    "output": {"uri": "s3://results/cora"},
    "tls": {"mode": "Disabled"}
  },
  "status": {
    "observedGeneration": 1, "phase": "Training", "incarnation": 1, "trainerReplicas": 2,
    "attempts": {"partition": 1, "total": 1, "counted": 0},
    "startTime": "2026-01-02T03:00:05Z",
    "partition": {"hash": "0f3a9c", "uri": "s3://results/cora/partitions/0f3a9c", "cut": 0.0525, "bytes": 16500000},
    "replicaStatuses": {"server": {"wanted": 2, "ready": 2, "failed": 0},
                        "trainer": {"wanted": 2, "ready": 2, "failed": 0}},
    "progress": {"epoch": 4, "percent": 42.5, "etaSeconds": 250, "lastUpdated": "2026-01-02T03:09:50Z",
                 "metrics": {"loss": 0.52134567, "validationAccuracy": 0.79}},
    "conditions": [
      {"type": "Accepted", "status": "True", "reason": "Valid", "message": "", "observedGeneration": 1,
       "lastTransitionTime": "2026-01-02T03:00:05Z"},
      {"type": "Partitioned", "status": "True", "reason": "PartitionReady", "message": "", "observedGeneration": 1,
       "lastTransitionTime": "2026-01-02T03:02:00Z"},
      {"type": "ServersReady", "status": "True", "reason": "AllReady", "message": "2 of 2", "observedGeneration": 1,
       "lastTransitionTime": "2026-01-02T03:03:00Z"},
      {"type": "TrainersReady", "status": "True", "reason": "AllReady", "message": "2 of 2", "observedGeneration": 1,
       "lastTransitionTime": "2026-01-02T03:04:00Z"}
    ]
  }
})";

constexpr char kFailed[] = R"({
  "phase": "Failed", "incarnation": 4, "completionTime": "2026-01-02T03:09:30Z", "restartReason": "OOMKilled",
  "attempts": {"partition": 1, "total": 4, "counted": 4},
  "replicaStatuses": {"server": {"wanted": 0, "ready": 0, "failed": 0},
                      "trainer": {"wanted": 2, "ready": 0, "failed": 2}},
  "lastError": {"role": "trainer", "reason": "OOMKilled", "exitCode": 137, "pod": "cora-trainer-4-1-x7k2p",
                "message": "the container used more memory than its limit"},
  "conditions": [
    {"type": "Accepted", "status": "True", "reason": "Valid", "message": "", "observedGeneration": 1,
     "lastTransitionTime": "2026-01-02T03:00:05Z"},
    {"type": "TrainersReady", "status": "False", "reason": "JobEnded", "message": "the job has ended",
     "observedGeneration": 1, "lastTransitionTime": "2026-01-02T03:09:30Z"},
    {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "observedGeneration": 1,
     "message": "4 failures, the last: OOMKilled: the container used more memory than its limit",
     "lastTransitionTime": "2026-01-02T03:09:30Z"}
  ]
})";

constexpr char kSucceeded[] = R"({
  "phase": "Succeeded", "completionTime": "2026-01-02T03:09:30Z",
  "progress": {"epoch": 10, "percent": 100, "etaSeconds": 0},
  "conditions": [
    {"type": "Succeeded", "status": "True", "reason": "Completed", "observedGeneration": 1,
     "message": "all trainers have ended and the outputs are complete", "lastTransitionTime": "2026-01-02T03:09:30Z"}
  ]
})";

Json ParsedText(const char* text) {
  Result<Json> json = kube::ParseJson(text);
  ESPALIER_CHECK(json.ok()) << json.status().ToString();
  return *std::move(json);
}

Json JobWithStatus(const char* status) {
  Json job = TrainingJobJson();
  job["status"].merge_patch(ParsedText(status));
  return job;
}

}  // namespace

kube::WallTime Now() { return *kube::ParseTime("2026-01-02T03:10:00Z"); }
kube::WallTime Ago(std::chrono::seconds time) { return Now() - time; }

Json TrainingJobJson() { return ParsedText(kJob); }
Json FailedJobJson() { return JobWithStatus(kFailed); }
Json SucceededJobJson() { return JobWithStatus(kSucceeded); }

api::DistTraining Parsed(const Json& object) {
  Result<api::DistTraining> training = api::ParseDistTraining(object);
  ESPALIER_CHECK(training.ok()) << training.status().ToString();
  return *std::move(training);
}

Json PodJson(const std::string& name, api::Role role, int64_t rank, const Json& status) {
  Json pod = {{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata",
               {{"name", name},
                {"namespace", "ml"},
                {"uid", "uid-" + name},
                {"labels",
                 {{resources::kManagedByLabel, "espalier-operator"},
                  {resources::kJobLabel, "cora"},
                  {resources::kComponentLabel, api::ToString(role)}}}}},
              {"spec", {{"nodeName", "node-" + std::to_string(rank)}}},
              {"status", {{"phase", "Running"}}}};
  Json& labels = pod["metadata"]["labels"];
  if (role == api::Role::kTrainer) labels[resources::kCompletionIndexLabel] = std::to_string(rank);
  pod["status"].merge_patch(status);
  return pod;
}

Json OomKilledPodJson() {
  Json pod = PodJson(
      "cora-trainer-4-1-x7k2p", api::Role::kTrainer, 1,
      {{"phase", "Failed"},
       {"containerStatuses",
        Json::array({{{"name", "trainer"},
                      {"restartCount", 0},
                      {"state", {{"terminated", {{"exitCode", 137}, {"reason", "OOMKilled"}, {"message", ""}}}}}}})}});
  pod["metadata"]["labels"][resources::kIncarnationLabel] = "4";
  return pod;
}

JobPod Member(const Json& pod) {
  Result<kube::Pod> parsed = kube::ParsePod(pod);
  ESPALIER_CHECK(parsed.ok()) << parsed.status().ToString();
  std::optional<JobPod> member = ToJobPod(*std::move(parsed));
  ESPALIER_CHECK(member.has_value()) << "no role's pod";
  return *std::move(member);
}

Json EventJson(const std::string& name, const std::string& kind, const std::string& object, const std::string& reason,
               const std::string& message, std::chrono::seconds ago) {
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata", {{"name", name}, {"namespace", "ml"}}},
          {"involvedObject", {{"kind", kind}, {"name", object}, {"namespace", "ml"}, {"uid", "uid-" + object}}},
          {"type", "Warning"},
          {"reason", reason},
          {"message", message},
          {"count", 3},
          {"lastTimestamp", kube::FormatTime(Ago(ago))}};
}

}  // namespace espalier::ctl::view::testing
