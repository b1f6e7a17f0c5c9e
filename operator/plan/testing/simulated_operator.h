// An operator over a SimulatedCluster with injected faults: caches that are late, each kind independently; status
// writes that are refused; a process that dies between two actions and starts again with empty memory. It checks the
// rules of plan.h on the way.
//
// The caches may lag behind as real ones do, with these limits: a cache is never older than the last write of this
// process to an object of its kind (runtime/stale_guard.h), and it never goes back in time. A process that starts lists
// all objects first.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "operator/plan/testing/simulated_cluster.h"
#include "services/base/philox.h"

namespace espalier::ctl::plan::testing {

struct Faults {
  double late_cache = 0;      // of each kind, at each look
  double refused_status = 0;  // of each write
  double crash = 0;           // before each action
};

// Owned by one thread. `cluster` must outlive it.
class SimulatedOperator {
 public:
  SimulatedOperator(SimulatedCluster& cluster, uint64_t seed) : cluster_(cluster), random_(seed, /*stream=*/1) {
    Restart();
  }

  // Runs one round: observe, plan, write, act. Returns false if there was nothing to write or to do.
  bool Reconcile(const Faults& faults);
  void Restart();
  // Returns the time at which the last plan is to be requeued.
  std::optional<kube::WallTime> wake_at() const { return wake_at_; }

  // Returns descriptions of the rules that were violated; empty: none.
  const std::vector<std::string>& violations() const { return violations_; }

 private:
  enum Kind { kJobsKind, kSetsKind, kPodsKind, kOthersKind, kNumKinds };
  struct Cache {
    size_t version = 0;  // of the snapshot that this cache shows
    size_t at_least = 0;
  };

  Observed View(double late);
  void NoteWrite(const Action& action);
  void CheckAction(const Action& action, const api::Status& stored);
  void CheckWorld();
  bool Happens(double probability) { return random_.NextUnitDouble() < probability; }
  void Broken(const std::string& rule) { violations_.push_back(rule); }

  SimulatedCluster& cluster_;
  PhiloxStream random_;
  std::deque<Observed> history_;  // snapshots of the cluster, one per look; the last is current
  size_t first_version_ = 0;      // of history_.front()
  Cache caches_[kNumKinds];
  std::optional<kube::WallTime> wake_at_;
  std::vector<std::string> violations_;
};

}  // namespace espalier::ctl::plan::testing
