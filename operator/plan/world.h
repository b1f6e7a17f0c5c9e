// The job's own children, grouped by purpose. Objects of other owners are kept separately: they show which names are
// taken and which pods are not the job's.
//
// A pod belongs to the job if its controller is a Job or StatefulSet of the job. A pod whose controller is gone
// (deleted in the background) also belongs to the job if the controller's name is one that this job gives to its
// children and the pod is no older than the job: names are unique, so no other job can have made the pod. An older pod
// whose controller is gone, or is being deleted in the foreground, is left over from an earlier job of the same name.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/plan/observed.h"

namespace espalier::ctl::plan {

// The pods of one Job, and the Job itself if it still exists.
struct JobRun {
  const kube::Job* job = nullptr;
  std::vector<const kube::Pod*> pods;
};

// Refers to the arguments of the constructor, which must outlive it.
class World {
 public:
  World(const api::DistTraining& training, const Observed& seen);

  const std::map<int64_t, JobRun>& partition_runs() const { return partitions_; }  // by attempt
  const std::map<int64_t, JobRun>& trainer_runs() const { return trainers_; }      // by incarnation
  const JobRun& partition_run(int64_t attempt) const { return FindRun(partitions_, attempt); }
  const JobRun& trainer_run(int64_t incarnation) const { return FindRun(trainers_, incarnation); }
  const std::vector<const kube::StatefulSet*>& server_sets() const { return server_sets_; }
  const kube::StatefulSet* sampler_set() const { return sampler_set_; }
  const std::vector<const kube::Pod*>& pods(api::Role role) const { return pods_[static_cast<size_t>(role)]; }
  bool has_pods() const;  // of any role
  // Pods of an earlier job of the same name. Until they are gone, this job cannot create pods, or Jobs, of the same
  // names.
  const std::vector<const kube::Pod*>& leftovers() const { return leftovers_; }

  // Returns the job's child with this name, or null.
  const kube::ObjectMeta* Find(const kube::Resource& resource, std::string_view name) const;
  // Returns whether an object of another owner has this name.
  bool IsTaken(const kube::Resource& resource, std::string_view name) const;
  const std::vector<Child>& children() const { return children_; }  // the job's own, sorted by kind and name
  // Returns the number of pods of a Job or StatefulSet, by its uid.
  int64_t CountPods(const std::string& controller_uid) const;
  // Returns the number of pods of the set whose programs are ready (ProgramIsReady in program_pod.h).
  int64_t CountReadyPods(const kube::StatefulSet& set) const;

 private:
  static const JobRun& FindRun(const std::map<int64_t, JobRun>& runs, int64_t number);
  void Add(const kube::Job& job);
  void Add(const kube::StatefulSet& set);
  void Add(const kube::Pod& pod);
  // Adds the object to children_ or foreign_. Returns whether it is the job's own.
  bool AddObject(const kube::Resource& resource, const kube::ObjectMeta& meta);
  bool IsOwnPod(const kube::Pod& pod) const;
  bool IsLeftOver(const kube::Pod& pod) const;

  const api::DistTraining& training_;
  std::map<int64_t, JobRun> partitions_, trainers_;
  std::vector<const kube::StatefulSet*> server_sets_;
  const kube::StatefulSet* sampler_set_ = nullptr;
  std::vector<const kube::Pod*> pods_[api::kRoles.size()];
  std::vector<const kube::Pod*> leftovers_;
  std::vector<Child> children_;
  std::vector<Child> foreign_;  // of other owners
};

// Returns n if `name` is make_name(job, n), as 3 for "cora-trainer-3"; else nullopt.
std::optional<int64_t> ParseNumberInName(std::string_view name, const std::string& job,
                                         std::string (*make_name)(const std::string&, int64_t));

}  // namespace espalier::ctl::plan
