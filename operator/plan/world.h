// The job's own children, sorted by what they are for. What others own is kept apart: it is looked at only to find
// names that are taken.
//
// A pod belongs to the job when its controller is a Job or StatefulSet of the job. One whose controller is gone
// (deleted by somebody, in the background) counts as well if it has the name of one of ours and the pod is no older
// than the job: names are unique, so nobody else can have made it. An older one is left over from a job before this
// one that had its name, also while its controller waits for it to be gone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/plan/observed.h"

namespace espalier::ctl::plan {

// Pods of one Job or StatefulSet, and it itself where it is still there.
struct JobRun {
  const kube::Job* job = nullptr;
  std::vector<const kube::Pod*> pods;
};

// Points into Observed, which outlives it.
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
  bool has_pods() const;
  // Of a job before this one: ours cannot have their names, or those of their Jobs, before they are gone.
  const std::vector<const kube::Pod*>& leftovers() const { return leftovers_; }

  // The child of ours with this name; null.
  const kube::ObjectMeta* Find(const kube::Resource& resource, std::string_view name) const;
  // Somebody else's object with this name.
  bool IsTaken(const kube::Resource& resource, std::string_view name) const;
  const std::vector<Child>& children() const { return children_; }  // ours, by kind and name
  // Pods of a Job or StatefulSet, by its controller's uid.
  int64_t CountPods(const std::string& controller_uid) const;
  int64_t CountReadyPods(const kube::StatefulSet& set) const;  // by their programs (program_pod.h)

 private:
  static const JobRun& FindRun(const std::map<int64_t, JobRun>& runs, int64_t number);
  void Sort(const kube::Job& job);
  void Sort(const kube::StatefulSet& set);
  void Sort(const kube::Pod& pod);
  bool Keep(const kube::Resource& resource, const kube::ObjectMeta& meta);
  bool BelongsToUs(const kube::Pod& pod) const;
  bool IsLeftOver(const kube::Pod& pod) const;

  const api::DistTraining& training_;
  std::map<int64_t, JobRun> partitions_, trainers_;
  std::vector<const kube::StatefulSet*> server_sets_;
  const kube::StatefulSet* sampler_set_ = nullptr;
  std::vector<const kube::Pod*> pods_[api::kRoles.size()];
  std::vector<const kube::Pod*> leftovers_;
  std::vector<Child> children_;
  std::vector<Child> strangers_;
};

// n of a name that MakeName(job, n) gives: 3 for "cora-trainer-3".
std::optional<int64_t> ParseNumber(std::string_view name, const std::string& job,
                                   std::string (*make_name)(const std::string&, int64_t));

}  // namespace espalier::ctl::plan
