// Tests the recovery plan of a run with a user's program instead of trainers.
#include "services/runner/run/testing/planned_run.h"

namespace espalier::run {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class ProgramPlanTest : public RecoveryPlanTest {
 protected:
  ProgramPlanTest() {
    PlanOptions options = Options();
    options.trainer_kind = TrainerKind::kProgram;
    plan_.emplace(options);
  }
  void StartProgram() {
    StartServices();
    EXPECT_THAT(Next(), ElementsAre("incarnation 7 (total 1, counted 0)", "start trainer-0", "start trainer-1"));
    EXPECT_THAT(plan_->Awaited(), IsEmpty());
  }
};

TEST_F(ProgramPlanTest, AllRanksStartAtOnceAndAllMustEndWell) {
  StartProgram();
  End(kTrainer0, kDone);
  EXPECT_THAT(NextAfter(minutes(60)), IsEmpty());
  End(kTrainer1, kDone);
  EXPECT_THAT(Next(), ElementsAre("succeed"));
}

TEST_F(ProgramPlanTest, FailedRankRestartsCompletedRanks) {
  StartProgram();
  End(kTrainer0, kDone);
  End(kTrainer1, kKilled);
  EXPECT_THAT(Next(), ElementsAre("recover trainer-1 1/3"));
  EXPECT_THAT(NextWhenDue(), ElementsAre("incarnation 8 (total 2, counted 1)", "start trainer-0", "start trainer-1"));
}

TEST_F(ProgramPlanTest, FailureStopsOtherRanks) {
  StartProgram();
  End(kTrainer1, Code(1));
  EXPECT_THAT(Next(), IsEmpty());
  EXPECT_THAT(NextWhenDue(), ElementsAre("signal 15 trainer-0"));
  EXPECT_THAT(NextWhenDue(), ElementsAre("signal 9 trainer-0"));
  End(kTrainer0, kKilled);
  EXPECT_THAT(Next(), ElementsAre("recover trainer-1 1/3"));
}

TEST_F(ProgramPlanTest, EndsWith75SoonAfterTheStartAreCountedFromTheSecondOn) {
  StartProgram();
  std::vector<milliseconds> pauses;
  const auto end = [&] {
    End(kTrainer0, Code(75));
    End(kTrainer1, Code(75));
    return Next();
  };
  for (int counted = 0; counted <= 3; ++counted) {
    EXPECT_THAT(end(), ElementsAre("recover trainer-0 " + std::to_string(counted) + "/3"));
    pauses.push_back(std::chrono::duration_cast<milliseconds>(*plan_->WakeAt() - now_));
    EXPECT_THAT(NextWhenDue(), Contains("start trainer-1"));
  }
  EXPECT_THAT(pauses, ElementsAre(milliseconds(200), milliseconds(200), milliseconds(400), milliseconds(800)));
  EXPECT_THAT(end(), IsEmpty());
  EXPECT_THAT(NextWhenDue(), ElementsAre("give up trainer-0"));
}

TEST_F(ProgramPlanTest, ExternalStopsFarApartAreNotCounted) {
  StartProgram();
  for (int stop = 0; stop < 10; ++stop) {
    now_ += Options().healthy_after;
    End(kTrainer0, Code(75));
    End(kTrainer1, Code(75));
    EXPECT_THAT(Next(), ElementsAre("recover trainer-0 0/3"));
    EXPECT_THAT(NextWhenDue(), Contains("start trainer-1"));
  }
}

TEST_F(ProgramPlanTest, BadInputAfterStopIsConsequence) {
  StartProgram();
  End(kTrainer1, kKilled);
  Next();
  EXPECT_THAT(NextWhenDue(), ElementsAre("signal 15 trainer-0"));
  End(kTrainer0, Code(65));
  EXPECT_THAT(Next(), ElementsAre("recover trainer-1 1/3"));
  EXPECT_THAT(NextWhenDue(), Contains("start trainer-0"));
  End(kTrainer0, Code(65));
  EXPECT_THAT(Next(), ElementsAre("give up trainer-0"));
}

}  // namespace
}  // namespace espalier::run
