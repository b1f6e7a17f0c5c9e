#include "services/apps/partitioning/process_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/storage/memory_store.h"

namespace espalier::partitioning {
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
    auto group = ProcessGroup::Join(store_, "parts/try-1/group", options, std::move(stop));
    EXPECT_TRUE(group.ok()) << group.status().ToString();
    return *std::move(group);
  }

  storage::MemoryStore store_;
};

TEST_F(ProcessGroupTest, MarkersReachTheOthersAndAreWrittenOnce) {
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

TEST_F(ProcessGroupTest, EndsWithTheReasonOfWhoeverFailed) {
  const auto zero = Join(Options(0)), one = Join(Options(1));
  zero->Fail(InvalidArgument("edge 17 goes nowhere"));
  const Status heard = one->Await(0, "sent").status();
  EXPECT_EQ(heard.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(heard.message(), AllOf(HasSubstr("rank-0000 of 2"), HasSubstr("edge 17 goes nowhere")));
  one->Fail(heard);  // not said twice
  EXPECT_EQ(store_.List("parts/try-1/group/failed/")->size(), 1u);
}

TEST_F(ProcessGroupTest, AGroupThatHasFailedIsOver) {
  Join(Options(0))->Fail(Unavailable("no network"));
  const auto again = ProcessGroup::Join(store_, "parts/try-1/group", Options(1), nullptr);
  EXPECT_EQ(again.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(again.status().message(), AllOf(HasSubstr("the group 'try-1' is over"), HasSubstr("no network")));
}

TEST_F(ProcessGroupTest, AProcessThatNeverStartsIsNamed) {
  const Status late = Join(Options(1))->Await(0, "sent").status();
  EXPECT_EQ(late.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(late.message(), HasSubstr("process 0 of 2 has not been heard of while 'sent' is waited for"));
}

// It leaves a sign of life, as one that is killed does, and renews it no more.
TEST_F(ProcessGroupTest, AProcessThatFallsSilentIsNamed) {
  const std::string sign = "2 7";
  ASSERT_EQ(store_.PutIfAbsent("parts/try-1/group/alive/rank-0000", std::as_bytes(std::span(sign))), Status());
  const Status silent = Join(Options(1))->Await(0, "sent").status();
  EXPECT_EQ(silent.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(silent.message(), HasSubstr("process 0 of 2 is silent"));
}

TEST_F(ProcessGroupTest, AProcessThatLivesMayTakeItsTime) {
  const auto zero = Join(Options(0));
  GroupOptions patient = Options(1);
  patient.start_timeout = milliseconds(3000);
  int asked = 0;
  // Ten polls take longer than the silence that is allowed.
  const Status waited = Join(patient)->AwaitThat(0, "something", [&]() -> Result<bool> { return ++asked > 9; });
  EXPECT_EQ(waited, Status());
}

TEST_F(ProcessGroupTest, GroupsOfAnotherSizeDoNotMix) {
  const auto zero = Join(Options(0, 3));
  const Status mixed = Join(Options(1, 2))->Await(0, "sent").status();
  EXPECT_EQ(mixed.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(mixed.message(), HasSubstr("process 0 is one of 3 processes"));
}

TEST_F(ProcessGroupTest, StopsWaitingWhenAsked) {
  EXPECT_EQ(Join(Options(1), [] { return true; })->Await(0, "sent").status().code(), StatusCode::kCancelled);
}

TEST_F(ProcessGroupTest, TakesItsSignOfLifeAway) {
  Join(Options(0));
  EXPECT_THAT(*store_.List("parts/try-1/group/alive/"), IsEmpty());
}

TEST_F(ProcessGroupTest, RefusesWhatIsNoGroup) {
  GroupOptions options = Options(2);
  EXPECT_THAT(CheckGroup(options).message(), HasSubstr("rank 2: expected 0 to 1"));
  options = Options(0);
  for (const std::string name : {"", "A", "a/b", "a b"}) {
    options.name = name;
    EXPECT_THAT(CheckGroup(options).message(), HasSubstr("expected 1 to 64 of a-z, 0-9 and -")) << name;
  }
}

}  // namespace
}  // namespace espalier::partitioning
