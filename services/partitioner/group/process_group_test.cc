// Tests of ProcessGroup. The processes of a group are objects in one process that share a memory store.
#include "services/partitioner/group/process_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/storage/memory_store.h"

namespace espalier::partitioner {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ProcessGroupTest : public ::testing::Test {
 protected:
  GroupOptions Options(uint32_t rank, uint32_t size = 2) const {
    return {.rank = rank,
            .size = size,
            .name = "try-1",
            .peer_timeout = milliseconds(300),
            .start_timeout = milliseconds(300)};
  }
  std::unique_ptr<ProcessGroup> Join(const GroupOptions& options, std::function<bool()> stop = nullptr) {
    auto group = ProcessGroup::Join(store_, kPlace, options, std::move(stop));
    EXPECT_TRUE(group.ok()) << group.status().ToString();
    return *std::move(group);
  }

  static inline const GroupPlace kPlace = {.folder = "parts/try-1/group", .outcome = "parts/manifest.json"};
  storage::MemoryStore store_;
};

TEST_F(ProcessGroupTest, MarkersReachPeersAndAreWrittenOnce) {
  const auto zero = Join(Options(0)), one = Join(Options(1));
  EXPECT_FALSE(*zero->HasPublished("sent"));
  ASSERT_EQ(zero->Publish("sent", "12 edges"), Status());
  ASSERT_EQ(zero->Publish("sent", "another text"), Status());
  EXPECT_TRUE(*zero->HasPublished("sent"));
  EXPECT_EQ(*one->Await(0, "sent"), "12 edges");
  EXPECT_EQ(*zero->Await(0, "sent"), "12 edges");
}

TEST_F(ProcessGroupTest, WaitsForAMarkerThatComesLater) {
  const auto zero = Join(Options(0)), one = Join(Options(1));
  std::jthread later([&] { EXPECT_EQ(zero->Publish("sent", "now"), Status()); });
  EXPECT_EQ(*one->Await(0, "sent"), "now");
}

TEST_F(ProcessGroupTest, EndsWithReasonOfFailedProcess) {
  const auto zero = Join(Options(0)), one = Join(Options(1));
  zero->Fail(InvalidArgument("edge 17 goes nowhere"));
  const Status heard = one->Await(0, "sent").status();
  EXPECT_EQ(heard.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(heard.message(), AllOf(HasSubstr("rank-0000 of 2"), HasSubstr("edge 17 goes nowhere")));
  one->Fail(heard);  // an error of another process is not published again
  EXPECT_EQ(store_.List("parts/try-1/group/failed/")->size(), 1u);
}

TEST_F(ProcessGroupTest, FailedGroupEnds) {
  Join(Options(0))->Fail(DataLoss("a bundle is damaged"));
  const auto again = ProcessGroup::Join(store_, kPlace, Options(1), nullptr);
  EXPECT_EQ(again.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(again.status().message(),
              AllOf(HasSubstr("the group 'try-1' has ended"), HasSubstr("a bundle is damaged")));
}

TEST_F(ProcessGroupTest, AProcessThatNeverStartsIsNamed) {
  const Status late = Join(Options(1))->Await(0, "sent").status();
  EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(late.message(), HasSubstr("rank 0 of 2 has sent no heartbeat yet: it has not published 'sent'"));
}

// The process has a heartbeat that is not renewed, as if it had been killed.
TEST_F(ProcessGroupTest, NamesSilentProcess) {
  const std::string sign = "7";
  ASSERT_EQ(store_.PutIfAbsent("parts/try-1/group/alive/rank-0000", std::as_bytes(std::span(sign))), Status());
  const auto one = Join(Options(1));
  const Status silent = one->Await(0, "sent").status();
  EXPECT_EQ(silent.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(silent.message(), HasSubstr("rank 0 of 2 sends no heartbeat"));
  one->Fail(silent);  // published for the other processes
  EXPECT_EQ(store_.List("parts/try-1/group/failed/")->size(), 1u);
}

TEST_F(ProcessGroupTest, RunningProcessMayBeSlow) {
  const auto zero = Join(Options(0));
  GroupOptions patient = Options(1);
  patient.start_timeout = milliseconds(3000);
  int asked = 0;
  // Ten polls take longer than the peer timeout.
  const Status waited = Join(patient)->AwaitCondition(0, "something", [&]() -> Result<bool> { return ++asked > 9; });
  EXPECT_EQ(waited, Status());
}

// None of the three processes is running any more, but their markers are those of a group of three.
TEST_F(ProcessGroupTest, RefusesProcessWithOtherGroupSize) {
  ASSERT_EQ(Join(Options(0, 3))->Publish("sent", "a third"), Status());
  const auto mixed = ProcessGroup::Join(store_, kPlace, Options(0, 2), nullptr);
  EXPECT_EQ(mixed.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(mixed.status().message(),
              HasSubstr("the group 'try-1' was started with 3 processes, but the world size of this process is 2"));
  EXPECT_EQ(*Join(Options(1, 3))->Await(0, "sent"), "a third");
}

// Process 0 renews its heartbeat, but its marker has been deleted by the attempt that won.
TEST_F(ProcessGroupTest, StopsWaitingIfOutcomeExists) {
  GroupOptions patient = Options(1);
  patient.peer_timeout = patient.start_timeout = milliseconds(30'000);
  const auto zero = Join(Options(0)), one = Join(patient);
  const std::string manifest = "{}";
  ASSERT_EQ(store_.PutIfAbsent(kPlace.outcome, std::as_bytes(std::span(manifest))), Status());
  const auto stop = Deadline::After(milliseconds(20'000));
  const Status ended = one->AwaitCondition(0, "sent", [&]() -> Result<bool> {
    if (stop.HasPassed()) return Internal("waited on");
    return false;
  });
  EXPECT_EQ(ended.code(), StatusCode::kAborted);
  EXPECT_THAT(ended.message(), HasSubstr("parts/manifest.json exists already: no need to wait for"));
  one->Fail(ended);  // not an error of the group
  EXPECT_THAT(*store_.List("parts/try-1/group/failed/"), IsEmpty());
  // A marker that exists is returned even if the outcome exists.
  ASSERT_EQ(zero->Publish("sent", "now"), Status());
  EXPECT_EQ(*one->Await(0, "sent"), "now");
}

// After an eviction of its pod or a temporary failure of the store, a process may be restarted with its rank.
TEST_F(ProcessGroupTest, TransientErrorsDoNotEndGroup) {
  for (const Status& passing :
       {Cancelled("asked to stop"), Unavailable("no network"), DeadlineExceeded("no response in time")}) {
    Join(Options(0))->Fail(passing);
    EXPECT_THAT(*store_.List("parts/try-1/group/failed/"), IsEmpty());
  }
  ASSERT_EQ(Join(Options(0))->Publish("sent", "after all"), Status());
  EXPECT_EQ(*Join(Options(1))->Await(0, "sent"), "after all");
}

TEST_F(ProcessGroupTest, EndsOnStop) {
  EXPECT_EQ(Join(Options(1), [] { return true; })->Await(0, "sent").status().code(), StatusCode::kCancelled);
}

TEST_F(ProcessGroupTest, DeletesItsHeartbeat) {
  Join(Options(0));
  EXPECT_THAT(*store_.List("parts/try-1/group/alive/"), IsEmpty());
}

TEST_F(ProcessGroupTest, RefusesInvalidGroups) {
  GroupOptions options = Options(2);
  EXPECT_THAT(CheckGroup(options).message(), HasSubstr("rank 2: expected 0 to 1"));
  options = Options(0);
  for (const std::string name : {"", "A", "a/b", "a b"}) {
    options.name = name;
    EXPECT_THAT(CheckGroup(options).message(), HasSubstr("expected 1 to 64 characters of a-z, 0-9 and -")) << name;
  }
}

}  // namespace
}  // namespace espalier::partitioner
