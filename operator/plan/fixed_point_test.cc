// Tests that from any random history, repeated plan and apply converge to the right state. A random cluster runs a job
// while pods are killed, nodes are lost, other writers delete children, the job is suspended, resumed and scaled, and
// the operator works on late caches, has writes refused and crashes between two actions. Then the faults stop.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "operator/plan/reasons.h"
#include "operator/plan/testing/a_training.h"
#include "operator/plan/testing/simulated_operator.h"

namespace espalier::ctl::plan {
namespace {

using testing::ATraining;
using testing::Faults;
using ::testing::IsEmpty;
using testing::PartitionEnding;
using testing::SimulatedCluster;
using testing::SimulatedOperator;

enum class Fate { kWell, kBadInput, kCrashesAlways };

constexpr int kFaultySeconds = 80;
constexpr int64_t kBackoffLimit = 3;

class RandomJob {
 public:
  RandomJob(uint64_t seed, Fate fate)
      : random_(seed, /*stream=*/0), fate_(fate), cluster_(ATraining(SpecOf(fate, seed))), operator_(cluster_, seed) {
    if (seed % 5 > 2) cluster_.InjectSidecar({.name = "istio-proxy", .ignores_sigterm = seed % 5 == 3});
  }

  void Run() {
    for (int second = 0; second < kFaultySeconds; ++second) {
      if (fate_ == Fate::kWell) Misfortune();
      Second({.late_cache = 0.4, .refused_status = 0.1, .crash = 0.05});
    }
    for (const char* node : {"node-0", "node-1", "node-2", "node-3"}) cluster_.RestoreNode(node);
    if (cluster_.training().spec->run_policy.suspend) Suspend(false);
    may_finish_ = true;
    // The backoff may have grown to six minutes.
    for (int second = 0; second < 3000 && !api::IsTerminal(status()); ++second) Second({});
    for (int second = 0; second < 40; ++second) Second({});
  }

  // Returns whether there is nothing to write and nothing to do any more.
  bool IsAtRest() { return !operator_.Reconcile({}); }
  const api::Status& status() const { return cluster_.training().status; }
  SimulatedCluster& cluster() { return cluster_; }
  const std::vector<std::string>& violations() const { return operator_.violations(); }

 private:
  static kube::Json SpecOf(Fate fate, uint64_t seed) {
    return {{"graph", {{"source", {{"format", "NPY"}}}, {"partitions", {{"algorithm", "Random"}}}}},
            {"partitioner", {{"replicas", 1 + seed % 3}}},
            {"samplers", {{"replicas", seed % 3}}},
            {"tls", {{"mode", seed % 2 == 0 ? "Managed" : "Disabled"}}},
            {"runPolicy", {{"backoffLimit", fate == Fate::kWell ? 1000 : kBackoffLimit}}}};
  }

  bool Chance(double probability) { return random_.NextUnitDouble() < probability; }
  std::string PodOf(const std::string& controller) {
    const std::vector<std::string> pods = cluster_.PodsOf(controller);
    return pods.empty() ? std::string() : pods[random_.NextBelow(static_cast<uint32_t>(pods.size()))];
  }
  std::string Trainers() const { return "cora-trainer-" + std::to_string(status().incarnation); }
  std::string Partitioner() const { return "cora-partition-" + std::to_string(status().partition_attempt); }
  void Suspend(bool suspend) {
    cluster_.Edit([suspend](api::DistTraining* training) {
      testing::MergeSpec(training, {{"runPolicy", {{"suspend", suspend}}}});
    });
  }

  void Misfortune() {
    if (!Chance(0.08)) return;
    const std::string node = "node-" + std::to_string(random_.NextBelow(4));
    const int codes[] = {70, 74, 75, 77, 137, 1};
    const auto propagation = Chance(0.5) ? kube::Propagation::kBackground : kube::Propagation::kForeground;
    if (Chance(0.1)) cluster_.EndSidecar(PodOf(Trainers()), Chance(0.5) ? 0 : 1);
    switch (random_.NextBelow(12)) {
      case 0: cluster_.EndPod(PodOf(Trainers()), {.exit_code = codes[random_.NextBelow(6)]}); break;
      case 1: cluster_.EndPod(PodOf(Partitioner()), {.exit_code = codes[random_.NextBelow(6)]}); break;
      case 2: cluster_.EndPod(PodOf("cora-server-0"), {.exit_code = 137}); break;
      case 3: cluster_.LoseNode(node); break;
      case 4: cluster_.RestoreNode(node); break;
      case 5: cluster_.DeleteChild(kube::kJobs, Chance(0.7) ? Trainers() : Partitioner(), propagation); break;
      case 6: cluster_.DeleteChild(kube::kStatefulSets, "cora-server-0", propagation); break;
      case 7: cluster_.DeleteChild(kube::kServices, "cora", propagation); break;
      case 8: cluster_.DeletePod(PodOf(Trainers())); break;
      case 9: Suspend(!cluster_.training().spec->run_policy.suspend); break;
      case 10: {
        const uint32_t replicas = 1 + random_.NextBelow(3);
        cluster_.Edit([replicas](api::DistTraining* training) {
          testing::MergeSpec(training, {{"trainers", {{"replicas", replicas}}}});
        });
        break;
      }
      case 11: cluster_.DeleteSecrets(); break;
    }
  }

  bool IsTraining(const std::string& pod) { return testing::ProgramOf(*cluster_.FindPod(pod)).ready; }

  void EndPrograms() {
    for (const std::string& pod : cluster_.PodsOf(Partitioner())) {
      if (Chance(0.3)) cluster_.EndPod(pod, PartitionEnding("0123abcd"));
    }
    const kube::Job* job = cluster_.FindJob(Trainers());
    const std::vector<std::string> pods = cluster_.PodsOf(Trainers());
    // A program whose sidecar has ended trains on, although its pod is not ready and the Job does not count it.
    const auto num_training =
        std::count_if(pods.begin(), pods.end(), [this](const std::string& name) { return IsTraining(name); });
    if (job == nullptr || num_training < job->completions) return;
    if (fate_ == Fate::kBadInput && Chance(0.3)) cluster_.EndPod(pods.front(), {.exit_code = 65});
    if (fate_ == Fate::kCrashesAlways && Chance(0.3)) cluster_.EndPod(pods.back(), {.exit_code = 70});
    if (fate_ == Fate::kWell && may_finish_ && Chance(0.3)) {
      for (const std::string& pod : pods) cluster_.EndPod(pod, {.exit_code = 0});
    }
  }

  // Controllers and kubelets run at random times; the operator is woken by every change, so once per second.
  void Second(const Faults& faults) {
    cluster_.Pass(std::chrono::seconds(1));
    EndPrograms();
    if (Chance(0.8)) cluster_.RunScheduler();
    if (Chance(0.8)) cluster_.RunKubelets();
    if (Chance(0.8)) cluster_.RunJobController();
    if (Chance(0.8)) cluster_.RunStatefulSetController();
    if (Chance(0.8)) cluster_.RunGarbageCollector();
    if (Chance(0.1)) cluster_.RunTaintManager();
    operator_.Reconcile(faults);
  }

  PhiloxStream random_;
  const Fate fate_;
  SimulatedCluster cluster_;
  SimulatedOperator operator_;
  bool may_finish_ = false;
};

// Returns the number of seeds for each fate. ESPALIER_PLAN_SEEDS overrides it, for a longer run. With sanitizers each
// seed takes ten times as long.
uint64_t NumSeeds(uint64_t otherwise) {
  if (const char* text = std::getenv("ESPALIER_PLAN_SEEDS")) return std::strtoull(text, nullptr, 10);
#if defined(ESPALIER_ADDRESS_SANITIZER) || defined(ESPALIER_THREAD_SANITIZER)
  return otherwise / 15;
#else
  return otherwise;
#endif
}

TEST(FixedPointTest, TransientFailuresDoNotFailJob) {
  for (uint64_t seed = 0; seed < NumSeeds(150); ++seed) {
    RandomJob job(seed, Fate::kWell);
    job.Run();
    ASSERT_THAT(job.violations(), IsEmpty()) << "seed " << seed;
    ASSERT_EQ(job.status().phase, api::Phase::kSucceeded) << "seed " << seed << "\n"
                                                          << api::ToJson(job.status()).dump(2);
    ASSERT_TRUE(job.IsAtRest()) << "seed " << seed;
    ASSERT_THAT(job.cluster().PodsOf("cora-server-0"), IsEmpty()) << "seed " << seed;
  }
}

TEST(FixedPointTest, AJobWithBadInputFails) {
  for (uint64_t seed = 0; seed < NumSeeds(60); ++seed) {
    RandomJob job(seed, Fate::kBadInput);
    job.Run();
    ASSERT_THAT(job.violations(), IsEmpty()) << "seed " << seed;
    ASSERT_EQ(job.status().phase, api::Phase::kFailed) << "seed " << seed;
    ASSERT_EQ(api::FindCondition(job.status(), api::kFailed)->reason, "BadInput") << "seed " << seed;
    ASSERT_EQ(job.status().attempts_counted, 0) << "seed " << seed;
    ASSERT_TRUE(job.IsAtRest()) << "seed " << seed;
  }
}

TEST(FixedPointTest, CrashingJobIsRetriedUpToLimit) {
  for (uint64_t seed = 0; seed < NumSeeds(60); ++seed) {
    RandomJob job(seed, Fate::kCrashesAlways);
    job.Run();
    ASSERT_THAT(job.violations(), IsEmpty()) << "seed " << seed;
    ASSERT_EQ(job.status().phase, api::Phase::kFailed) << "seed " << seed;
    ASSERT_EQ(api::FindCondition(job.status(), api::kFailed)->reason, kBackoffLimitExceeded) << "seed " << seed;
    ASSERT_EQ(job.status().attempts_counted, kBackoffLimit + 1) << "seed " << seed;
    ASSERT_EQ(job.status().attempts_total, kBackoffLimit + 1) << "seed " << seed;
    ASSERT_TRUE(job.IsAtRest()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace espalier::ctl::plan
