// The other parts of a cluster for a FakeApiServer: the StatefulSet and Job controllers, a scheduler, kubelets, and
// nodes that can fail. There are no threads: Step runs each part once, so that a test controls the order of events.
//
//   job_controller, stateful_set_controller   create, count and delete pods
//   kubelet                                   starts pods, makes them ready, ends them as their program says
//
// Not simulated: capacity, images, volumes. A deleted pod is removed at the next step, without a last status.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/client/testing/fake_api_server.h"
#include "operator/kube/pod.h"

namespace espalier::ctl::cluster {

// How the program container of a pod ends.
struct PodEnd {
  int exit_code = 0;
  std::string message;               // its termination log
  std::string reason = "Completed";  // "Error", "OOMKilled"
};
PodEnd Exit(int code, const std::string& message = "");  // with a termination message as Espalier's processes write it
PodEnd OutOfMemoryEnd();
PodEnd Partitioned();  // exit 0, with hash, cut and bytes in the termination message

// The pod of a program.
struct RunningPod {
  std::string name;
  std::string name_space;
  std::string job;   // DistTraining
  std::string role;  // "trainer"
  std::string node;
  int64_t index = 0;        // completion index of a Job, or ordinal of a StatefulSet
  int64_t incarnation = 0;  // of trainers
  int64_t attempt = 0;      // of partitioners
  int restarts = 0;
};

// Thread-compatible.
class FakeCluster {
 public:
  using WallClock = std::function<kube::WallTime()>;
  // Called at every step for each running pod. Returns how the program ends, or nullopt if it continues.
  using Program = std::function<std::optional<PodEnd>(const RunningPod&)>;

  // The nodes are "node-0", "node-1", and so on. The server must outlive the cluster.
  FakeCluster(client::FakeApiServer& server, WallClock now, int num_nodes = 4);
  ~FakeCluster();

  // Partitioners end with Partitioned(); all other programs run forever.
  static std::optional<PodEnd> DefaultProgram(const RunningPod& pod);
  void SetProgram(Program program) { program_ = std::move(program); }
  // Sets the SHA-256 of the script that the init container (espalier fetch-script) fetches from object storage.
  void SetScript(std::string sha256) { script_sha256_ = std::move(sha256); }
  // Makes the creation of pods fail; the controller reports the message in an Event. Empty: pods are created again.
  void RefusePods(std::string message) { pod_refusal_ = std::move(message); }
  // Adds a container that never ends before the program's container in new pods, like an admission webhook.
  void InjectSidecar(std::string name) { sidecar_ = std::move(name); }
  // Pods of this role are created but do not start until Release.
  void HoldBack(const std::string& role) { held_back_.insert(role); }
  void Release(const std::string& role) { held_back_.erase(role); }

  // Stops the kubelet of the node: its pods do not change any more.
  void FailNode(const std::string& node);
  // Deletes the pods of failed nodes with the condition DisruptionTarget, like the node controller.
  void EvictFromFailedNodes();

  // Runs each controller and kubelet once. Returns the number of changes.
  int Step();

 private:
  friend class JobController;
  friend class StatefulSetController;
  friend class Kubelet;

  using Json = kube::Json;
  void DeletePod(const kube::ObjectMeta& pod);  // by the API, with the grace period
  void MakePod(const Json& controller, const kube::Resource& resource, const std::string& name, Json extra_labels,
               const std::string& hostname);
  void ReportFailedCreate(const Json& controller, const kube::Resource& resource);
  // Writes the status if it differs. Returns true if it was written.
  bool SetStatus(const kube::Resource& resource, const Json& object, const Json& status);

  client::FakeApiServer& server_;
  const WallClock now_;
  std::unique_ptr<client::HttpTransport> transport_;
  Program program_ = DefaultProgram;
  std::string pod_refusal_;
  std::string sidecar_;  // empty: none
  std::string script_sha256_ = std::string(64, 'a');
  std::set<std::string> held_back_;
  std::vector<std::string> nodes_;
  std::set<std::string> failed_nodes_;
  std::set<std::string> counted_pods_;  // uids of pods that the Job controller has counted
  int64_t num_pods_made_ = 0;
  int64_t num_scheduled_ = 0;
  int changes_ = 0;                                                           // of the current step
  client::FakeApiServer::KnownObjects known_pods_, known_jobs_, known_sets_;  // caches of parsed objects
};

bool IsTerminating(const kube::Json& object);  // has a deletionTimestamp

}  // namespace espalier::ctl::cluster
