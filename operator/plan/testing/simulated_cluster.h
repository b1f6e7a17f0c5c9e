// A cluster in memory around one DistTraining: the API server's rules for the actions of a plan, and the controllers
// that create the pods of Jobs and StatefulSets, as deterministic steps. No threads and no clock: `Pass` advances the
// time.
//
// It models what the operator depends on, with its known peculiarities:
//   Job controller        backoffLimit 0: after one failed pod (a terminating pod counts) it deletes the others first,
//                         then writes FailureTarget, and Failed when the last pod has ended
//   StatefulSet           a name is free again only when the pod that had it is gone
//   garbage collector     foreground deletion keeps the owner until its pods are gone; background deletion leaves them
//                         orphaned for a while
//   kubelet               a deleted pod ends with 75 and disappears; on a lost node it stays until a forced deletion; a
//                         pod with a sidecar keeps running after its program
//   taint manager         pods of a lost node become disruption targets and are deleted
//   PodGroups             stored with the condition that the test writes (simulated_pod_groups.cc)
//   Kueue                 pod sets of a Workload are immutable while quota is reserved (simulated_kueue.cc)
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operator/kube/testing/workload_controllers.h"
#include "operator/plan/plan.h"

namespace espalier::ctl::plan::testing {

// How a pod's program ends.
struct Ending {
  int exit_code = 0;
  std::string reason = {};   // "OOMKilled"; empty: "Error" or "Completed"
  std::string message = {};  // in the termination log
};
Ending PartitionEnding(const std::string& hash);  // exit code 0, with hash, bytes and cut

// A container that an admission webhook adds to every pod, before the program's. It never ends by itself.
struct Sidecar {
  std::string name = "istio-proxy";
  bool ignores_sigterm = false;  // it then runs until the pod's grace period is over
};

// Owned by one thread.
class SimulatedCluster {
 public:
  explicit SimulatedCluster(api::DistTraining training);

  // Returns what an up-to-date cache shows, and also Secrets and dry runs, so that lookups need no extra step.
  Observed Now() const;
  const api::DistTraining& training() const { return training_; }
  // Changes the resource as kubectl edit does: the generation is incremented.
  void Edit(const std::function<void(api::DistTraining*)>& edit);
  kube::WallTime now() const { return now_; }
  void Pass(std::chrono::milliseconds time) { now_ += time; }

  // The API server ------------------------------------------------------------------------------------------------
  // Returns Aborted if the resource was written since `based_on`.
  Status WriteStatus(const api::Status& status, const std::string& based_on);
  // Carries out an action. Returns Aborted if the uid no longer exists; FailedPrecondition if an object of another
  // owner has the name.
  Status Do(const Action& action);
  bool is_deleted() const { return deleted_; }  // by DeleteSelf

  // Controllers, each once --------------------------------------------------------------------------------------
  void RunJobController();
  void RunStatefulSetController();
  void RunGarbageCollector();
  void RunScheduler();
  void RunKubelets();
  void RunTaintManager();
  void RunAll();  // until nothing changes any more at this time

  // Events ------------------------------------------------------------------------------------------------------
  bool EndPod(const std::string& name, const Ending& ending);  // false: it does not run
  void SetReady(const std::string& pod, bool ready);           // of the pod and its program
  void Kill(const std::string& name);                          // with SIGKILL: the kubelet restarts or fails it
  void LoseNode(const std::string& node);
  void RestoreNode(const std::string& node);
  // Deletes a child as kubectl delete does.
  void DeleteChild(const kube::Resource& resource, const std::string& name, kube::Propagation propagation);
  void DeletePod(const std::string& name);
  void DeleteSecrets();
  void ExpireCertificates();  // of the roles
  // Makes the pod unschedulable, as if it had never been placed on a node, until it is deleted and replaced.
  void Unschedule(const std::string& name, const std::string& reason);
  // Creates an object of another owner with this name. Without our label it is in no cache.
  void Occupy(const kube::Resource& resource, const std::string& name, bool with_label);
  void Vacate(const std::string& name);
  void set_missing_secrets(std::vector<Observed::MissingSecret> missing) { missing_secrets_ = std::move(missing); }
  void set_mount_failure(std::string message) { mount_failure_ = std::move(message); }  // of every pod
  void set_template_error(std::string error) { template_error_ = std::move(error); }
  void InjectSidecar(Sidecar sidecar) { sidecar_ = std::move(sidecar); }  // into pods made from now on
  // Sets spec.suspend of a Job as kubectl patch does.
  void SuspendJob(const std::string& name, bool suspend, const std::string& manager);
  // Kueue ---------------------------------------------------------------------------------------------------------
  void set_uses_kueue(bool uses_kueue) { uses_kueue_ = uses_kueue; }
  // Makes Workloads unknown, as while they cannot be listed. Empty: they are known.
  void set_workloads_unknown(std::string because) { workloads_unknown_ = std::move(because); }
  void SetLabel(const std::string& label, const std::string& value);  // of the DistTraining; empty: removes it
  void PutFlavor(const std::string& name, Observed::Queue::Flavor flavor) { flavors_[name] = std::move(flavor); }
  void set_priority(std::optional<int64_t> priority) { priority_ = priority; }  // of every WorkloadPriorityClass
  // Returns the job's Workload as stored, or null.
  const kube::Json* FindWorkload() const;
  // Reserves quota in ClusterQueue "gpus" and admits the Workload, with one flavor for all pod sets. `trainers`: how
  // many of them; 0: all.
  void AdmitWorkload(const std::string& flavor, int64_t trainers = 0);
  void EvictWorkload(const std::string& reason, const std::string& message);
  // Writes a condition, as Kueue does.
  void SetWorkloadCondition(const std::string& type, bool is_true, const std::string& reason,
                            const std::string& message);
  void EditWorkload(const std::function<void(kube::Json*)>& edit);

  // PodGroups -----------------------------------------------------------------------------------------------------
  // Whether the operator uses PodGroups, and the API server serves them.
  void set_pod_groups(bool are_used, bool are_served) {
    gangs_are_enabled_ = are_used;
    gangs_are_missing_ = are_used && !are_served;
  }
  // Makes PodGroups unknown, as while they cannot be listed. Empty: they are known.
  void set_pod_groups_unknown(std::string because) { gangs_unknown_ = std::move(because); }
  // Returns the PodGroup as stored, or null.
  const kube::PodGroup* FindPodGroup(const std::string& name) const;
  // Writes the condition PodGroupInitiallyScheduled, as kube-scheduler does.
  void SetScheduled(const std::string& pod_group, bool is_scheduled, const std::string& message);

  void set_grace(std::chrono::seconds grace) { grace_ = grace; }  // terminationGracePeriodSeconds of all pods
  bool EndSidecar(const std::string& pod, int exit_code);         // false: it does not run
  void set_creation_error(std::string error) { creation_error_ = std::move(error); }  // no pod can be made

  std::vector<std::string> PodsOf(const std::string& controller) const;  // names, including ended pods
  kube::Pod* FindPod(const std::string& name);
  kube::Job* FindJob(const std::string& name);
  kube::StatefulSet* FindSet(const std::string& name);
  bool Has(const kube::Resource& resource, const std::string& name) const;
  std::string NodeOf(const std::string& pod) const;
  // Returns the incarnations of trainer pods whose programs may be running.
  std::vector<int64_t> RunningIncarnations() const;

 private:
  struct SimulatedPod {
    kube::Pod pod;
    bool counted = true;  // the Job controller has counted the pod; until then the pod has the controller's finalizer
    int64_t index = 0;
    kube::WallTime started_at{};  // of its containers; of the program: since its last restart
  };
  using Name = std::pair<std::string, std::string>;  // kind, name

  std::string NewUid();
  Status Apply(const ApplyChild& apply);
  Status Delete(const plan::DeleteChild& deletion);
  Status ApplyWorkload(const kube::Json& object, const kube::ObjectMeta& meta);
  void KeepPodGroup(const kube::Json& object, const kube::ObjectMeta& meta);
  void ShowPodGroups(Observed* seen) const;
  Status PatchWorkload(const PatchWorkloadStatus& action);
  void DeleteObject(const kube::Resource& resource, const std::string& name, kube::Propagation propagation);
  void MakePod(const kube::ObjectMeta& controller, const kube::Resource& resource, const std::string& name,
               int64_t index);
  void RequestDeletion(SimulatedPod* pod);
  void SyncJob(kube::Job* job);
  void SyncSet(kube::StatefulSet* set);
  void SyncPod(SimulatedPod* pod);
  void EndDeletedPod(SimulatedPod* pod) const;
  kube::ContainerEnd EndNow(const SimulatedPod& pod, int exit_code, const std::string& reason,
                            const std::string& message) const;
  bool IsLost(const std::string& node) const;
  bool IsOurs(const kube::ObjectMeta& meta) const { return plan::IsOurs(meta, training_); }
  std::vector<SimulatedPod*> PodsOfUid(const std::string& uid);
  static std::vector<kube::testing::WorkloadPod> ViewPods(const std::vector<SimulatedPod*>& pods);
  void Changed() { ++changes_; }

  api::DistTraining training_;
  kube::WallTime now_;
  std::map<std::string, kube::Job> jobs_;
  std::map<std::string, kube::StatefulSet> sets_;
  std::map<Name, Child> others_;
  std::map<std::string, SimulatedPod> pods_;
  std::vector<Child> conflicting_objects_;
  std::optional<resources::CertificateFacts> authority_;
  std::map<api::Role, resources::CertificateFacts> leaves_;
  std::vector<Observed::MissingSecret> missing_secrets_;
  std::string template_error_, creation_error_, mount_failure_;
  std::optional<Sidecar> sidecar_;
  std::map<std::string, kube::FieldManager> suspended_by_;
  std::chrono::seconds grace_{30};
  std::optional<int64_t> dry_run_generation_;
  std::map<std::string, kube::Json> workloads_;
  std::map<std::string, Observed::Queue::Flavor> flavors_;
  std::optional<int64_t> priority_;
  std::string workloads_unknown_;
  bool uses_kueue_ = false;
  std::map<std::string, kube::PodGroup> pod_groups_;
  std::string gangs_unknown_;
  bool gangs_are_enabled_ = false, gangs_are_missing_ = false;
  std::map<std::string, bool> nodes_;  // name, is lost
  int64_t next_uid_ = 1, next_node_ = 0, resource_version_ = 1, changes_ = 0;
  bool deleted_ = false;
};

// Returns the container that runs the pod's program.
kube::ContainerState& ProgramOf(kube::Pod& pod);

// Removes from `seen` the values that no cache contains and that `lookups` does not request.
void DropUnrequested(const Lookups& lookups, Observed* seen);

}  // namespace espalier::ctl::plan::testing
