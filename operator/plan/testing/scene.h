// Helpers for the tests of this folder: a job in a SimulatedCluster, brought to a starting state, observed and planned
// for. Caches are up to date, and nothing fails unless the test makes it fail.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "operator/plan/testing/a_training.h"
#include "operator/plan/testing/simulated_cluster.h"

namespace espalier::ctl::plan::testing {

// A horizon for SettleWithin that includes the first restarts with their backoff.
constexpr std::chrono::seconds kSoon{120};

class Scene {
 public:
  Scene() : cluster_(ATraining()) {}
  static Scene With(const kube::Json& spec) { return Scene(ATraining(spec)); }  // merged into the document

  SimulatedCluster& cluster() { return cluster_; }
  const api::Status& status() const { return cluster_.training().status; }
  std::string restart_reason() const { return status().restart_reason; }

  Plan NextPlan();  // returns the plan for the current state without carrying it out
  Plan Act();       // the same, carried out: status written, actions done, controllers run
  // Calls Act until there is nothing left to do at the current time. Fails the test after more than 50 calls.
  void Settle();
  void SettleAfter(std::chrono::milliseconds time);
  // Advances the time by the plan's requeue_after until it requests none, or one beyond `horizon`.
  void SettleWithin(std::chrono::seconds horizon);
  void Edit(const kube::Json& spec);  // merged into the spec, generation + 1

  // Starting states of tests.
  Scene& Partitioning();      // the partition pod runs
  Scene& PartitionJobDone();  // servers are there
  Scene& Training();          // all trainers of incarnation 1 run

  // Events, and their immediate consequences.
  void PartitionPodEnded(const Ending& ending);
  void TrainerPodEnded(int64_t rank, int exit_code, const std::string& reason = {});  // its peers run on
  void TrainersDone();                                                                // all end with exit code 0
  void Suspend() { Edit({{"runPolicy", {{"suspend", true}}}}); }
  void Resume() { Edit({{"runPolicy", {{"suspend", false}}}}); }

  std::vector<std::string> Pods(const std::string& controller) const { return cluster_.PodsOf(controller); }
  std::string TrainerPod(int64_t rank) const;  // of the current incarnation
  api::ConditionStatus ConditionOf(const char* type) const;
  std::string ReasonOf(const char* type) const;   // "" without the condition
  std::string MessageOf(const char* type) const;  // "" without the condition

 private:
  explicit Scene(api::DistTraining training) : cluster_(std::move(training)) {}

  SimulatedCluster cluster_;
  Defaults defaults_{.core_image = "espalier/core:1",
                     .trainer_image = "espalier/trainer:1",
                     .trainer_cuda_image = "espalier/trainer-cuda:1"};
};

// "apply Job cora-trainer-1", "delete Pod cora-server-0-1 by force", "make authority", ...: in order.
std::vector<std::string> Described(const std::vector<Action>& actions);
// "Warning OOMKilled"
std::vector<std::string> Described(const std::vector<runtime::EventNote>& events);

}  // namespace espalier::ctl::plan::testing
