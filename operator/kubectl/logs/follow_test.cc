#include "operator/kubectl/logs/follow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "operator/kubectl/logs/testing/fake_pod_logs.h"

namespace espalier::ctl::logs {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Runs Follow in its own thread, with pods that the test defines, and records what it prints.
class FollowTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.probe_interval = std::chrono::milliseconds(5);
    options_.between_tries = std::chrono::milliseconds(1);
  }
  void TearDown() override {
    stop_.request_stop();
    if (thread_.joinable()) thread_.join();
  }

  void SetLife(const std::string& pod, ContainerLife life) {
    MutexLock lock(&mutex_);
    lives_[pod] = life;
  }
  void NoMorePods() {
    MutexLock lock(&mutex_);
    no_more_ = true;
  }
  // Ends the container and its log.
  void End(const std::string& pod) {
    SetLife(pod, ContainerLife::kEnded);
    logs_.End(pod);
  }

  void Start() {
    finder_.find = [this]() -> Result<PodFinder::Found> {
      MutexLock lock(&mutex_);
      if (num_failures_ > 0) {
        --num_failures_;
        return Unavailable("no API server");
      }
      PodFinder::Found found{.no_more = no_more_};
      for (const auto& [pod, life] : lives_) found.sources.push_back({{"ml", pod}, "trainer", pod});
      return found;
    };
    finder_.check = [this](const LogSource& source) -> Result<ContainerLife> {
      MutexLock lock(&mutex_);
      ++num_looks_;
      return lives_[source.pod.name];
    };
    printer_.line = [this](const LogSource& source, const LogLine& line) {
      MutexLock lock(&mutex_);
      lines_.push_back(source.label + ": " + line.text);
      return print_status_;
    };
    printer_.problem = [this](const LogSource& source, const Status& status) {
      MutexLock lock(&mutex_);
      problems_.push_back(source.label + ": " + status.message());
    };
    thread_ = std::thread([this] { result_ = Follow(logs_, finder_, options_, printer_, stop_.get_token()); });
  }
  Status Join() {
    thread_.join();
    return result_;
  }
  // Ends `pod`, which is the last one, and waits for Follow.
  Status JoinAfterPodEnd(const std::string& pod) {
    NoMorePods();
    End(pod);
    return Join();
  }
  bool AwaitLines(size_t count) {
    MutexLock lock(&mutex_);
    return mutex_.AwaitBefore(Deadline::After(std::chrono::seconds(10)),
                              [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return lines_.size() >= count; });
  }

  bool AwaitLifeChecks(int count) {
    MutexLock lock(&mutex_);
    return mutex_.AwaitBefore(Deadline::After(std::chrono::seconds(10)),
                              [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return num_looks_ >= count; });
  }

  std::vector<std::string> lines() {
    MutexLock lock(&mutex_);
    return lines_;
  }
  std::vector<std::string> problems() {
    MutexLock lock(&mutex_);
    return problems_;
  }
  void SetNumFailures(int count) {
    MutexLock lock(&mutex_);
    num_failures_ = count;
  }
  int num_failures() {
    MutexLock lock(&mutex_);
    return num_failures_;
  }
  void SetPrintStatus(const Status& status) {
    MutexLock lock(&mutex_);
    print_status_ = status;
  }

  FakePodLogs logs_;
  FollowOptions options_;
  std::stop_source stop_;
  PodFinder finder_;
  LogPrinter printer_;
  Status result_;
  Mutex mutex_;
  std::map<std::string, ContainerLife> lives_ ABSL_GUARDED_BY(mutex_);
  bool no_more_ ABSL_GUARDED_BY(mutex_) = false;
  int num_failures_ ABSL_GUARDED_BY(mutex_) = 0;
  int num_looks_ ABSL_GUARDED_BY(mutex_) = 0;
  Status print_status_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_), problems_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

TEST_F(FollowTest, PrintsLinesAndEndsWithLastPod) {
  SetLife("a", ContainerLife::kActive);
  logs_.Write("a", 1, "one");
  Start();
  ASSERT_TRUE(AwaitLines(1));
  logs_.Write("a", 2, "two");
  ASSERT_TRUE(AwaitLines(2));
  EXPECT_TRUE(JoinAfterPodEnd("a").ok());
  EXPECT_THAT(lines(), ElementsAre("a: one", "a: two"));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(FollowTest, FollowsNewPods) {
  Start();
  logs_.Write("a", 1, "early");
  SetLife("a", ContainerLife::kActive);
  ASSERT_TRUE(AwaitLines(1));
  End("a");
  logs_.Write("b", 2, "late");
  SetLife("b", ContainerLife::kActive);
  ASSERT_TRUE(AwaitLines(2));
  EXPECT_TRUE(JoinAfterPodEnd("b").ok());
  EXPECT_THAT(lines(), ElementsAre("a: early", "b: late"));
}

TEST_F(FollowTest, ResumesBrokenStreamsWithoutDuplicates) {
  SetLife("a", ContainerLife::kActive);
  logs_.Write("a", 1, "one");
  Start();
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(AwaitLines(static_cast<size_t>(1 + i)));
    logs_.Cut("a", /*broken=*/i % 2 == 0);
    logs_.Write("a", 1, "more " + std::to_string(i));
  }
  ASSERT_TRUE(AwaitLines(5));
  EXPECT_TRUE(JoinAfterPodEnd("a").ok());
  EXPECT_THAT(lines(), ElementsAre("a: one", "a: more 0", "a: more 1", "a: more 2", "a: more 3"));
}

// The stream is cut, and before the container's state is checked, the container has written its last line and ended.
TEST_F(FollowTest, PrintsLinesWrittenWhileStreamWasBroken) {
  SetLife("a", ContainerLife::kActive);
  logs_.Write("a", 1, "one");
  Start();
  ASSERT_TRUE(AwaitLines(1));
  ASSERT_TRUE(logs_.AwaitOpen(1));
  SetLife("a", ContainerLife::kEnded);
  logs_.WriteUnfinished("a", 2, "last words");
  logs_.Cut("a", /*broken=*/false);
  ASSERT_TRUE(AwaitLines(2));
  NoMorePods();
  EXPECT_TRUE(Join().ok());
  EXPECT_THAT(lines(), ElementsAre("a: one", "a: last words"));
}

TEST_F(FollowTest, ContinuesAfterContainerRestart) {
  SetLife("a", ContainerLife::kActive);
  logs_.Write("a", 1, "before");
  Start();
  ASSERT_TRUE(AwaitLines(1));
  logs_.Restart("a");
  logs_.Write("a", 5, "after");
  ASSERT_TRUE(AwaitLines(2));
  EXPECT_TRUE(JoinAfterPodEnd("a").ok());
  EXPECT_THAT(lines(), ElementsAre("a: before", "a: after"));
}

// A server crashes repeatedly: while it waits for its next start, the log of the previous container ends normally.
TEST_F(FollowTest, WaitsForRestartingContainer) {
  options_.max_tries = 3;
  SetLife("a", ContainerLife::kActive);
  logs_.Write("a", 1, "before");
  logs_.End("a");
  Start();
  ASSERT_TRUE(logs_.AwaitRequests(10));
  logs_.Restart("a");
  logs_.Write("a", 5, "after");
  ASSERT_TRUE(AwaitLines(2));
  EXPECT_TRUE(JoinAfterPodEnd("a").ok());
  EXPECT_THAT(lines(), ElementsAre("a: before", "a: after"));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(FollowTest, KeepsStreamOfSilentContainer) {
  options_.longest_silence = std::chrono::milliseconds(2);
  options_.max_tries = 3;
  SetLife("a", ContainerLife::kActive);
  logs_.Write("a", 1, "one");
  Start();
  ASSERT_TRUE(AwaitLifeChecks(10));
  logs_.Write("a", 2, "two");
  ASSERT_TRUE(AwaitLines(2));
  EXPECT_EQ(logs_.targets().size(), 1u);
  EXPECT_TRUE(JoinAfterPodEnd("a").ok());
  EXPECT_THAT(lines(), ElementsAre("a: one", "a: two"));
  EXPECT_THAT(problems(), IsEmpty());
}

// The stream stays open, because the node that would close it is gone.
TEST_F(FollowTest, EndsWithAPodWhoseNodeHasDied) {
  options_.longest_silence = std::chrono::milliseconds(2);
  SetLife("a", ContainerLife::kActive);
  logs_.Write("a", 1, "one");
  Start();
  ASSERT_TRUE(AwaitLines(1));
  logs_.Silence("a");
  SetLife("a", ContainerLife::kGone);
  NoMorePods();
  EXPECT_TRUE(Join().ok());
  EXPECT_THAT(lines(), ElementsAre("a: one"));
}

TEST_F(FollowTest, ReportsUnreadableEndOfLog) {
  options_.longest_silence = std::chrono::milliseconds(2);
  SetLife("a", ContainerLife::kActive);
  logs_.Write("a", 1, "one");
  Start();
  ASSERT_TRUE(AwaitLines(1));
  logs_.Silence("a");
  SetLife("a", ContainerLife::kEnded);
  NoMorePods();
  EXPECT_TRUE(Join().ok());
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("no response in time")));
}

TEST_F(FollowTest, EndsOnStop) {
  SetLife("a", ContainerLife::kActive);
  logs_.Write("a", 1, "one");
  Start();
  ASSERT_TRUE(AwaitLines(1));
  stop_.request_stop();
  EXPECT_EQ(Join().code(), StatusCode::kCancelled);
}

TEST_F(FollowTest, EndsWhenOutputIsClosed) {
  SetPrintStatus(Unavailable("broken pipe"));
  SetLife("a", ContainerLife::kActive);
  logs_.Write("a", 1, "one");
  Start();
  EXPECT_EQ(Join().message(), "broken pipe");
  EXPECT_THAT(lines(), ElementsAre("a: one"));
}

TEST_F(FollowTest, ToleratesShortOutageOfApiServer) {
  SetNumFailures(options_.max_tries - 1);
  SetLife("a", ContainerLife::kEnded);
  logs_.Write("a", 1, "one");
  logs_.End("a");
  NoMorePods();
  Start();
  EXPECT_TRUE(Join().ok());
  EXPECT_THAT(lines(), ElementsAre("a: one"));
}

TEST_F(FollowTest, FailsAfterLongOutageOfApiServer) {
  SetNumFailures(1000);
  options_.max_tries = 3;
  Start();
  EXPECT_EQ(Join().code(), StatusCode::kUnavailable);
  EXPECT_EQ(num_failures(), 997);
}

TEST_F(FollowTest, FailsIfLogStaysUnreadable) {
  options_.max_tries = 3;
  SetLife("a", ContainerLife::kActive);
  logs_.Refuse("a", "no disk, no log");
  NoMorePods();
  Start();
  EXPECT_TRUE(Join().ok());
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("no disk, no log")));
}

TEST_F(FollowTest, RefusesTooManyLogs) {
  options_.max_logs = 2;
  for (const char* pod : {"a", "b", "c"}) {
    SetLife(pod, ContainerLife::kActive);
    logs_.Restart(pod);
  }
  Start();
  EXPECT_EQ(Join().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace espalier::ctl::logs
