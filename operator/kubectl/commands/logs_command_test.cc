#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "operator/kubectl/commands/commands.h"
#include "operator/kubectl/commands/testing/plugin_world.h"
#include "operator/resources/labels.h"
#include "services/base/mutex.h"

namespace espalier::ctl::kubectl {
namespace {

using kube::Json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::PluginWorld;

Json Running(const std::string& name, api::Role role, int64_t rank) {
  return view::testing::PodJson(
      name, role, rank,
      {{"containerStatuses", Json::array({{{"name", api::ToString(role)}, {"ready", true}, {"restartCount", 0}}})}});
}

// Runs `logs -f` in its own thread and records its output.
class Follower {
 public:
  Follower(PluginWorld& world, LogsFlags flags)
      : world_(world), flags_(std::move(flags)), context_(world.Context()), result_(0) {
    context_.out.write = [this](std::string_view text) {
      MutexLock lock(&mutex_);
      output_ += text;
      return Status();
    };
    thread_ = std::thread([this] { result_ = PrintLogs(flags_, context_); });
  }
  ~Follower() {
    world_.stop.request_stop();
    if (thread_.joinable()) thread_.join();
  }

  // Blocks (for at most ten seconds) until the whole output equals `output`. Returns whether it does.
  bool Await(const std::string& output) {
    MutexLock lock(&mutex_);
    return mutex_.AwaitBefore(Deadline::After(std::chrono::seconds(10)),
                              [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return output_ == output; });
  }
  Result<int> Join() {
    thread_.join();
    return result_;
  }

 private:
  PluginWorld& world_;
  const LogsFlags flags_;
  CommandContext context_;
  Mutex mutex_;
  std::string output_ ABSL_GUARDED_BY(mutex_);
  Result<int> result_;
  std::thread thread_;
};

class LogsCommandTest : public ::testing::Test {
 protected:
  void SetUp() override {
    world_.Put(kube::kDistTrainings, view::testing::TrainingJobJson());
    world_.Put(kube::kPods, Running("t0", api::Role::kTrainer, 0));
    world_.Put(kube::kPods, Running("t1", api::Role::kTrainer, 1));
    world_.Put(kube::kPods, Running("cora-server-0-0", api::Role::kServer, 0));
    world_.transport.Write("t0", 1, "first");
    world_.transport.Write("t1", 2, "second");
    world_.transport.Write("t0", 4, "fourth");
    world_.transport.Write("cora-server-0-0", 3, "third");
  }

  PluginWorld world_;
};

TEST_F(LogsCommandTest, PrintsAllPodsInTheOrderOfTime) {
  EXPECT_EQ(*PrintLogs({.name = "cora"}, world_.Context()), 0);
  EXPECT_EQ(world_.output, "[trainer-0] first\n[trainer-1] second\n[server-0] third\n[trainer-0] fourth\n");
}

TEST_F(LogsCommandTest, ChoosesByRoleAndRankAndCutsToTheTail) {
  EXPECT_EQ(
      *PrintLogs({.name = "cora", .role = "trainer", .rank = 0, .timestamps = true, .tail_lines = 1}, world_.Context()),
      0);
  EXPECT_EQ(world_.output, "[trainer-0] 2026-01-02T03:00:04.000000Z fourth\n");
  EXPECT_EQ(PrintLogs({.name = "cora", .role = "boss"}, world_.Context()).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(LogsCommandTest, SeparatesIncarnations) {
  Json old = Running("t0-old", api::Role::kTrainer, 0);
  old["metadata"]["labels"][resources::kIncarnationLabel] = "1";
  Json current = Running("t0", api::Role::kTrainer, 0);
  current["metadata"]["labels"][resources::kIncarnationLabel] = "2";
  world_.Put(kube::kPods, old);
  world_.Put(kube::kPods, current);
  world_.transport.Write("t0-old", 0.5, "before");
  EXPECT_EQ(*PrintLogs({.name = "cora", .role = "trainer", .rank = 0}, world_.Context()), 0);
  EXPECT_EQ(world_.output, "[trainer-0@1] before\n[trainer-0@2] first\n[trainer-0@2] fourth\n");
}

TEST_F(LogsCommandTest, SeparatesReplicas) {
  for (const char* replica : {"0", "1"}) {
    Json pod = Running(std::string("cora-server-") + replica + "-0", api::Role::kServer, 0);
    pod["metadata"]["labels"][resources::kReplicaLabel] = replica;
    world_.Put(kube::kPods, pod);
  }
  world_.transport.Write("cora-server-1-0", 5, "fifth");
  EXPECT_EQ(*PrintLogs({.name = "cora", .role = "server"}, world_.Context()), 0);
  EXPECT_EQ(world_.output, "[server-0@0] third\n[server-0@1] fifth\n");
}

TEST_F(LogsCommandTest, EachServerOfAPodHasALog) {
  Json pod = Running("cora-server-0-0", api::Role::kServer, 0);
  for (const char* const container : {"log-shipper", "server-1"}) {
    pod["status"]["containerStatuses"].push_back({{"name", container}, {"ready", true}, {"restartCount", 0}});
  }
  world_.Put(kube::kPods, pod);
  EXPECT_EQ(*PrintLogs({.name = "cora", .role = "server"}, world_.Context()), 0);
  EXPECT_EQ(world_.output, "[server-0] third\n[server-0/server-1] third\n");  // the fake has one log for a pod
  EXPECT_THAT(world_.transport.targets(), ::testing::Contains(HasSubstr("container=server-1")));
  EXPECT_EQ(PrintLogs({.name = "cora", .role = "server", .max_pods = 1}, world_.Context()).status().code(),
            StatusCode::kResourceExhausted);
}

TEST_F(LogsCommandTest, EscapesControlCharactersOnlyForTerminal) {
  world_.transport.Write("t1", 9, "\x1b[2Jred");
  EXPECT_EQ(*PrintLogs({.name = "cora", .rank = 1}, world_.Context()), 0);
  EXPECT_THAT(world_.output, HasSubstr("[trainer-1] \x1b[2Jred\n"));

  world_.output.clear();
  world_.is_terminal = true;
  EXPECT_EQ(*PrintLogs({.name = "cora", .rank = 1}, world_.Context()), 0);
  EXPECT_THAT(world_.output, HasSubstr("[trainer-1] \\x1b[2Jred\n"));
}

TEST_F(LogsCommandTest, ReportsNoPodsAndTooManyPods) {
  EXPECT_EQ(PrintLogs({.name = "cora", .role = "sampler"}, world_.Context()).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(PrintLogs({.name = "photo"}, world_.Context()).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(PrintLogs({.name = "cora", .max_pods = 2}, world_.Context()).status().code(),
            StatusCode::kResourceExhausted);
}

TEST_F(LogsCommandTest, FollowsUntilTheJobHasEnded) {
  for (const char* pod : {"t0", "t1", "cora-server-0-0"}) {
    ASSERT_TRUE(world_.server.Remove(kube::kPods, {"ml", pod}).ok());
    world_.transport.End(pod);
  }
  Json ended = Running("t0", api::Role::kTrainer, 0);
  ended["status"]["phase"] = "Succeeded";
  world_.Put(kube::kPods, ended);
  world_.Put(kube::kDistTrainings, view::testing::SucceededJobJson());
  const Result<int> followed = PrintLogs({.name = "cora", .follow = true}, world_.Context());
  ASSERT_TRUE(followed.ok()) << followed.status().ToString();
  EXPECT_EQ(world_.output, "[trainer-0] first\n[trainer-0] fourth\n");
}

TEST_F(LogsCommandTest, FollowsLineByLineUntilStop) {
  Follower follower(world_, {.name = "cora", .role = "trainer", .rank = 1, .follow = true});
  EXPECT_TRUE(follower.Await("[trainer-1] second\n"));
  world_.transport.Write("t1", 5, "fifth");
  EXPECT_TRUE(follower.Await("[trainer-1] second\n[trainer-1] fifth\n"));
  world_.stop.request_stop();
  EXPECT_EQ(follower.Join().status().code(), StatusCode::kCancelled);
  EXPECT_THAT(world_.transport.targets(), ::testing::Contains(HasSubstr("follow=true")));
}

TEST_F(LogsCommandTest, FollowsAPodThatOutlivesItsJob) {
  world_.Put(kube::kDistTrainings, view::testing::SucceededJobJson());
  Follower follower(world_, {.name = "cora", .role = "trainer", .rank = 0, .follow = true, .tail_lines = 1});
  EXPECT_TRUE(follower.Await("[trainer-0] fourth\n"));
  world_.transport.Write("t0", 5, "last words");
  EXPECT_TRUE(follower.Await("[trainer-0] fourth\n[trainer-0] last words\n"));
  Json ended = Running("t0", api::Role::kTrainer, 0);
  ended["status"]["phase"] = "Succeeded";
  world_.Put(kube::kPods, ended);
  world_.transport.End("t0");
  const Result<int> followed = follower.Join();
  ASSERT_TRUE(followed.ok()) << followed.status().ToString();
  EXPECT_TRUE(follower.Await("[trainer-0] fourth\n[trainer-0] last words\n"));
}

TEST_F(LogsCommandTest, PreviousIsTheContainerBeforeTheLastRestart) {
  world_.transport.Restart("t0");
  world_.transport.Write("t0", 9, "after the restart");
  EXPECT_EQ(*PrintLogs({.name = "cora", .role = "trainer", .previous = true}, world_.Context()), 0);
  EXPECT_EQ(world_.output, "[trainer-0] first\n[trainer-0] fourth\n");
  EXPECT_THAT(world_.notes, AllOf(HasSubstr("[trainer-1] "), HasSubstr("previous terminated container"),
                                  Not(HasSubstr("[trainer-0]"))));
  EXPECT_EQ(PrintLogs({.name = "cora", .role = "server", .previous = true}, world_.Context()).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::ctl::kubectl
