// An API server, a network and an operator that fail at every moment: the world ends the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/runtime/leader_election.h"
#include "operator/testing/operator_world.h"
#include "services/base/testing/fake_clock.h"

namespace espalier::ctl::cluster {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using client::ErrorAnswer;
using client::HttpResponse;
using client::IsWrite;
using kube::Json;
using Answer = std::optional<Result<HttpResponse>>;

// The first group of trainers crashes, the second ends well: a life with a restart in it.
std::optional<PodEnd> CrashOnce(const RunningPod& pod) {
  if (pod.role != "trainer") return FakeCluster::DefaultProgram(pod);
  return pod.incarnation == 1 ? Exit(70, "a bug") : Exit(0, "trained");
}

// What must not depend on what went wrong on the way.
struct Ending {
  std::string phase;
  int64_t incarnation = 0;
  int64_t attempts_counted = 0;
  int64_t attempts_total = 0;
  std::vector<std::string> children;
  friend bool operator==(const Ending&, const Ending&) = default;
};
void PrintTo(const Ending& ending, std::ostream* out) {
  *out << ending.phase << " incarnation " << ending.incarnation << " counted " << ending.attempts_counted << " of "
       << ending.attempts_total << ", children:";
  for (const std::string& child : ending.children) *out << " [" << child << "]";
}

Ending EndingOf(OperatorWorld& world) {
  const bool ended = world.RunUntilPhase("cora", "Succeeded", std::chrono::minutes(60));
  EXPECT_TRUE(ended) << kube::Print(*world.server.Find(kube::kDistTrainings, {"ml", "cora"}));
  world.RunFor(std::chrono::seconds(60));  // until pods that a sidecar holds are gone
  const api::Status status = world.StatusOf("cora");
  return {world.PhaseOf("cora"), status.incarnation, status.attempts_counted, status.attempts_total, world.Children()};
}

// The cluster-wide promise: at most one trainer group and one partition attempt at a time.
void ExpectNoDuplicates(const OperatorWorld& world) {
  int trainers = 0, partitions = 0;
  for (const std::string& name : world.Names(kube::kJobs)) {
    trainers += name.find("-trainer-") != std::string::npos;
    partitions += name.find("-partition-") != std::string::npos;
  }
  EXPECT_LE(trainers, 1);
  EXPECT_LE(partitions, 1);
}

struct Moment {
  bool after;    // the server has carried the request out, and the answer has not arrived; else before it leaves
  bool sidecar;  // beside each program runs a container that never ends
};
class OperatorKilledTest : public ::testing::TestWithParam<Moment> {
 protected:
  static void Begin(OperatorWorld& world) {
    world.cluster.SetProgram(CrashOnce);
    if (GetParam().sidecar) world.cluster.InjectSidecar("istio-proxy");
    world.Create("cora");
  }
};

// Killed at every write of a job's life, beside a sidecar at every third.
TEST_P(OperatorKilledTest, AtAnyWriteEndsInSameState) {
  const bool after = GetParam().after;
  Ending undisturbed;
  int64_t num_writes = 0;
  {
    OperatorWorld world;
    Begin(world);
    undisturbed = EndingOf(world);
    num_writes = world.op->transport().num_writes();
  }
  ASSERT_EQ(undisturbed.incarnation, 2);
  ASSERT_GT(num_writes, 20);

  const int64_t stride = GetParam().sidecar ? 3 : 1;  // most writes are those of a life without one
  for (int64_t kill_at = GetParam().sidecar && !after ? 2 : 1; kill_at <= num_writes; kill_at += stride) {
    SCOPED_TRACE("killed at write " + std::to_string(kill_at));
    OperatorWorld world;
    int64_t writes = 0;
    bool dead = false;
    world.op->transport().SetFault([&](const kube::HttpRequest& request, const HttpResponse* answer) -> Answer {
      if (dead) return Result<HttpResponse>(Unavailable("killed"));
      const bool is_moment = IsWrite(request) && (answer != nullptr) == after;
      if (is_moment && ++writes == kill_at) {
        dead = true;
        return Result<HttpResponse>(Unavailable("killed"));
      }
      return std::nullopt;
    });
    Begin(world);
    world.RunUntil([&] { return dead; }, std::chrono::minutes(60));
    ExpectNoDuplicates(world);
    world.RestartOperator();
    EXPECT_EQ(EndingOf(world), undisturbed);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Moments, OperatorKilledTest,
    ::testing::Values(Moment{.after = false, .sidecar = false}, Moment{.after = true, .sidecar = false},
                      Moment{.after = false, .sidecar = true}, Moment{.after = true, .sidecar = true}),
    [](const auto& one) {
      return std::string(one.param.after ? "After" : "Before") + (one.param.sidecar ? "BesideASidecar" : "");
    });

// One fault in so many requests, of each kind that a server or what is before it may answer; at random, with a seed.
class FlakyServerTest : public ::testing::TestWithParam<int> {};

TEST_P(FlakyServerTest, EndsInSameState) {
  Ending undisturbed;
  {
    OperatorWorld world;
    world.cluster.SetProgram(CrashOnce);
    world.Create("cora");
    undisturbed = EndingOf(world);
  }
  OperatorWorld world;
  world.cluster.SetProgram(CrashOnce);
  // Watches are another matter: their faults wait in real time, and are those of reflector and list_watch.
  world.op->transport().SetFaultOptions({.percent_of_calls = 20, .seed = static_cast<uint32_t>(GetParam())});
  world.Create("cora");
  EXPECT_EQ(EndingOf(world), undisturbed);
  EXPECT_GT(world.op->transport().num_faults(), 0);  // how many depends on how many requests there are
}

INSTANTIATE_TEST_SUITE_P(Seeds, FlakyServerTest, ::testing::Range(0, 8));

TEST(FaultsTest, BrokenAndExpiredWatchesChangeNothing) {
  OperatorWorld world;
  world.cluster.SetProgram(CrashOnce);
  world.Create("cora");
  ASSERT_TRUE(world.RunUntil([&] { return world.StatusOf("cora").partition.has_value(); }));
  world.server.CutWatches(/*broken=*/true);
  ASSERT_TRUE(world.RunUntil([&] { return world.StatusOf("cora").incarnation == 2; }, std::chrono::minutes(60)));
  world.server.Compact();  // what the informers have seen last is 410 now
  world.server.CutWatches(/*broken=*/false);
  const Ending ending = EndingOf(world);
  EXPECT_EQ(ending.incarnation, 2);
  EXPECT_EQ(ending.attempts_counted, 1);
}

TEST(FaultsTest, ConflictingStatusIsReread) {
  OperatorWorld world;
  int conflicts = 0;
  world.op->transport().SetFault([&](const kube::HttpRequest& request, const HttpResponse* answer) -> Answer {
    const bool is_status = request.target.find("/status") != std::string::npos;
    if (answer != nullptr || !is_status || ++conflicts % 2 == 0) return std::nullopt;
    return Result<HttpResponse>(ErrorAnswer(409, "Conflict", "the object has been modified"));
  });
  world.Create("cora");
  EXPECT_TRUE(world.RunUntilPhase("cora", "Training"));
  EXPECT_GT(conflicts, 2);
}

// A quota on objects, not on pods: the API server refuses the Job itself.
TEST(FaultsTest, RefusedChildIsReportedAndRetried) {
  OperatorWorld world;
  bool refuses = true;
  world.op->transport().SetFault([&](const kube::HttpRequest& request, const HttpResponse* answer) -> Answer {
    if (answer != nullptr || !refuses || request.method != "POST") return std::nullopt;
    if (request.target.find("/jobs") == std::string::npos) return std::nullopt;
    return Result<HttpResponse>(ErrorAnswer(403, "Forbidden", "exceeded quota: jobs, requested: 1, limited: 0"));
  });
  world.Create("cora");
  const auto shows = [&] {
    return kube::Print(*world.server.Find(kube::kDistTrainings, {"ml", "cora"})).find("exceeded quota") !=
           std::string::npos;
  };
  ASSERT_TRUE(world.RunUntil(shows, std::chrono::seconds(10)));
  refuses = false;
  EXPECT_TRUE(world.RunUntilPhase("cora", "Training", std::chrono::seconds(60)));
}

TEST(FaultsTest, RefusedTemplateReportsPathAndRecovers) {
  OperatorWorld world;
  bool refuses = true;
  world.op->transport().SetFault([&](const kube::HttpRequest& request, const HttpResponse* answer) -> Answer {
    const bool is_dry_run = request.target.find("dryRun=All") != std::string::npos;
    if (answer != nullptr || !refuses || !is_dry_run) return std::nullopt;
    if (request.target.find("-trainer-") == std::string::npos) return std::nullopt;
    return Result<HttpResponse>(
        ErrorAnswer(500, "",
                    "failed to create typed patch object (default/cora-trainer-1; batch/v1, Kind=Job): "
                    ".spec.template.spec.foo: field not declared in schema"));
  });
  world.Create("cora");
  ASSERT_TRUE(world.RunUntil(
      [&] {
        const api::Status status = world.StatusOf("cora");
        const api::Condition* accepted = api::FindCondition(status, api::kAccepted);
        return accepted != nullptr && accepted->status == api::ConditionStatus::kFalse;
      },
      std::chrono::seconds(10)));
  EXPECT_EQ(api::FindCondition(world.StatusOf("cora"), api::kAccepted)->message,
            "spec.trainers.template.spec.foo: field not declared in schema");
  EXPECT_THAT(world.Names(kube::kJobs), IsEmpty());
  refuses = false;
  EXPECT_TRUE(world.RunUntilPhase("cora", "Training", std::chrono::seconds(60)));
}

// The same quota stands in the dry run's way too: no fault of the template's.
TEST(FaultsTest, QuotaDuringDryRunIsNoTemplateError) {
  OperatorWorld world;
  bool refuses = true;
  world.op->transport().SetFault([&](const kube::HttpRequest& request, const HttpResponse* answer) -> Answer {
    const bool is_dry_run = request.target.find("dryRun=All") != std::string::npos;
    if (answer != nullptr || !refuses || !is_dry_run) return std::nullopt;
    return Result<HttpResponse>(ErrorAnswer(403, "Forbidden", "exceeded quota: jobs, requested: 1, limited: 0"));
  });
  world.Create("cora");
  ASSERT_TRUE(world.RunUntil(
      [&] {
        const api::Status status = world.StatusOf("cora");
        const api::Condition* accepted = api::FindCondition(status, api::kAccepted);
        return accepted != nullptr && accepted->reason == "Refused";
      },
      std::chrono::seconds(10)));
  EXPECT_THAT(api::FindCondition(world.StatusOf("cora"), api::kAccepted)->message,
              AllOf(HasSubstr("exceeded quota"), Not(HasSubstr("template"))));
  refuses = false;
  EXPECT_TRUE(world.RunUntilPhase("cora", "Training", std::chrono::seconds(60)));
}

// Conditions report a webhook that does not respond, and the operator continues when it responds again.
TEST(FaultsTest, UnreachableWebhookIsReportedUntilItResponds) {
  OperatorWorld world;
  enum class Stage { kDryRuns, kWrites, kNothing } is_down_for = Stage::kDryRuns;
  world.op->transport().SetFault([&](const kube::HttpRequest& request, const HttpResponse* answer) -> Answer {
    const bool is_dry_run = request.target.find("dryRun=All") != std::string::npos;
    if (answer != nullptr || request.method == "GET" || request.target.find("/jobs") == std::string::npos) {
      return std::nullopt;
    }
    if (is_down_for != (is_dry_run ? Stage::kDryRuns : Stage::kWrites)) return std::nullopt;
    return Result<HttpResponse>(ErrorAnswer(
        500, "InternalError", "Internal error occurred: failed calling webhook \"policy.example.org\": refused"));
  });
  world.Create("cora");
  const auto shows = [&](const char* type) {
    const api::Status status = world.StatusOf("cora");
    const api::Condition* condition = api::FindCondition(status, type);
    return condition != nullptr && condition->reason == "Refused" &&
           condition->message.find("policy.example.org") != std::string::npos;
  };
  ASSERT_TRUE(world.RunUntil([&] { return shows(api::kAccepted); }, std::chrono::seconds(10)));
  is_down_for = Stage::kWrites;
  ASSERT_TRUE(world.RunUntil([&] { return shows(api::kPartitioned); }, std::chrono::seconds(60)));
  is_down_for = Stage::kNothing;
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training", std::chrono::seconds(60)));

  // A running group is not ended while its replacement cannot be created.
  is_down_for = Stage::kDryRuns;
  world.Edit("cora", {{"trainers", {{"replicas", 3}}}});
  world.RunFor(std::chrono::seconds(60));
  EXPECT_TRUE(shows(api::kAccepted));
  EXPECT_EQ(world.PhaseOf("cora"), "Training");
  EXPECT_EQ(world.StatusOf("cora").incarnation, 1);
  is_down_for = Stage::kNothing;
  EXPECT_TRUE(world.RunUntil([&] { return world.StatusOf("cora").trainer_replicas == 3; }, std::chrono::seconds(60)));
}

// The suspension's dry run and its deletion are asked for in the same rounds.
TEST(FaultsTest, RefusedDeletionIsRetried) {
  OperatorWorld world;
  world.Create("cora");
  ASSERT_TRUE(world.RunUntilPhase("cora", "Training"));
  int refusals = 0;
  bool refuses = true;
  world.op->transport().SetFault([&](const kube::HttpRequest& request, const HttpResponse* answer) -> Answer {
    if (answer != nullptr || !refuses || request.method != "DELETE") return std::nullopt;
    ++refusals;
    return Result<HttpResponse>(ErrorAnswer(403, "Forbidden", "jobs may not be deleted"));
  });
  world.Edit("cora", {{"runPolicy", {{"suspend", true}}}});
  world.RunFor(std::chrono::seconds(60));
  EXPECT_GE(refusals, 3);
  EXPECT_LE(refusals, 20);
  refuses = false;
  EXPECT_TRUE(world.RunUntilPhase("cora", "Suspended", std::chrono::seconds(120)));
}

// Two processes, one lease: the second works only when the first has not renewed for the lease's duration, and goes on
// where it was.
TEST(FaultsTest, SecondOperatorContinuesAfterFirst) {
  OperatorWorld world;
  FakeClock clock;
  runtime::LeaderElectionOptions options;
  options.lease = {"espalier-system", "espalier-operator"};
  client::ApiClientOptions client_options;
  client_options.call_timeout = runtime::LeaseCallTimeout(options);
  telemetry::MetricRegistry metrics;
  client::ClientMetrics client_metrics(metrics);
  const auto transport = world.server.Connect("election");
  client::ApiClient lease_client(*transport, client_options, client_metrics);
  options.identity = "first";
  runtime::LeaderElector first(
      lease_client, options, [] {}, metrics, clock);
  options.identity = "second";
  telemetry::MetricRegistry second_metrics;
  runtime::LeaderElector second(
      lease_client, options, [] {}, second_metrics, clock);

  ASSERT_TRUE(first.TryOnce());
  EXPECT_FALSE(second.TryOnce());
  world.cluster.SetProgram(CrashOnce);
  world.Create("cora");
  ASSERT_TRUE(world.RunUntil([&] { return world.StatusOf("cora").incarnation == 1; }));
  clock.Advance(std::chrono::seconds(9));  // the first is silent from here on
  EXPECT_FALSE(second.TryOnce());
  clock.Advance(std::chrono::seconds(2));
  ASSERT_TRUE(second.TryOnce());
  EXPECT_FALSE(first.TryOnce());
  world.RestartOperator();
  EXPECT_EQ(EndingOf(world).incarnation, 2);
}

TEST(FaultsTest, ManyJobsSucceedConcurrently) {
  constexpr int kJobs = 50;
  OperatorWorld world;
  world.cluster.SetProgram(CrashOnce);
  for (int i = 0; i < kJobs; ++i) world.Create("job-" + std::to_string(i));
  const auto all_ended = [&] {
    for (int i = 0; i < kJobs; ++i) {
      if (world.PhaseOf("job-" + std::to_string(i)) != "Succeeded") return false;
    }
    return true;
  };
  ASSERT_TRUE(world.RunUntil(all_ended, std::chrono::minutes(60)));
  for (int i = 0; i < kJobs; ++i) EXPECT_EQ(world.StatusOf("job-" + std::to_string(i)).attempts_counted, 1) << i;
}

}  // namespace
}  // namespace espalier::ctl::cluster
