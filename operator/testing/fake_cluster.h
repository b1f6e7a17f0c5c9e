// The rest of a cluster on a FakeApiServer: the StatefulSet and the Job controller, a scheduler, kubelets, and nodes
// that fail. Nothing happens by itself: Step lets each of them look once, so that a test decides what comes before
// what.
//
//   job_controller, stateful_set_controller   make pods, count them, delete them
//   kubelet                                   pods begin, get ready, end as their program says, and go
//
// Caveats: no capacity, no images, no volumes; a pod that is deleted is gone at the next step, without a last status.
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

// How the main container of a pod ends.
struct PodEnd {
  int exit_code = 0;
  std::string message;               // its termination log
  std::string reason = "Completed";  // "Error", "OOMKilled"
};
PodEnd Exit(int code, const std::string& message = "");  // with the termination message that our processes write
PodEnd KilledForMemory();
PodEnd Partitioned();  // exit 0, saying hash, cut and bytes

// What a program sees of the pod it runs in.
struct RunningPod {
  std::string name;
  std::string name_space;
  std::string job;   // DistTraining
  std::string role;  // "trainer"
  std::string node;
  int64_t index = 0;        // of the Job's completion, or the StatefulSet's ordinal
  int64_t incarnation = 0;  // of trainers
  int64_t attempt = 0;      // of partitioners
  int restarts = 0;
};

// Owned by one thread.
class FakeCluster {
 public:
  using WallClock = std::function<kube::WallTime()>;
  // Asked at every step that the pod runs; nullopt: it goes on.
  using Program = std::function<std::optional<PodEnd>(const RunningPod&)>;

  // Nodes "node-0" .. Both outlive it.
  FakeCluster(client::FakeApiServer& server, WallClock now, int num_nodes = 4);
  ~FakeCluster();

  // Partitioners end with Partitioned(), all others run for ever.
  static std::optional<PodEnd> DefaultProgram(const RunningPod& pod);
  void SetProgram(Program program) { program_ = std::move(program); }
  // What object storage has for the init container that fetches a script (espalier fetch-script): its SHA-256.
  void SetScript(std::string sha256) { script_sha256_ = std::move(sha256); }
  // Pods are not made any more; an event of the controller's says this. Empty: they are.
  void RefusePods(std::string message) { pod_refusal_ = std::move(message); }
  // As an admission webhook does: a container that never ends, before the program's, in pods made from now on.
  void InjectSidecar(std::string name) { sidecar_ = std::move(name); }
  // Pods of this role are made and never start.
  void HoldBack(const std::string& role) { held_back_.insert(role); }
  void LetGo(const std::string& role) { held_back_.erase(role); }

  // Its kubelet says nothing any more: pods stay as they are.
  void FailNode(const std::string& node);
  // The node controller gives up on the pods of nodes that have failed: they are to go, with DisruptionTarget.
  void EvictFromFailedNodes();

  // One look of everybody. The number of changes.
  int Step();

 private:
  friend class JobController;
  friend class StatefulSetController;
  friend class Kubelet;

  using Json = kube::Json;
  void Delete(const kube::Resource& resource, const Json& object);  // through the API, with grace
  void MakePod(const Json& controller, const kube::Resource& resource, const std::string& name, Json extra_labels,
               const std::string& hostname);
  void ReportFailedCreate(const Json& controller, const kube::Resource& resource);
  // Writes status where it differs. True where it did.
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
  int64_t num_pods_made_ = 0;
  int64_t num_scheduled_ = 0;
  int changes_ = 0;                                                           // of the step under way
  client::FakeApiServer::KnownObjects known_pods_, known_jobs_, known_sets_;  // as of the last look
};

// Views of objects, as the controllers look at them.
bool IsOwnedBy(const kube::Json& object, const std::string& uid);
bool IsGoing(const kube::Json& object);  // has a deletionTimestamp

}  // namespace espalier::ctl::cluster
