#include "operator/api/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "operator/api/testing/full_status.h"

namespace espalier::ctl::api {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::SizeIs;

TEST(StatusTest, RoundTripsThroughJson) {
  const Status status = FullStatus();
  EXPECT_EQ(StatusFromJson(ToJson(status)), status);
  EXPECT_EQ(StatusFromJson(ToJson(Status{})), Status{});
}

TEST(StatusTest, ProgressIsWrittenSeparately) {
  Status status = FullStatus();
  status.progress = Progress{7, 14.5, 90, {{"loss", 0.5}}, At(9), "Evaluating", 40};
  EXPECT_FALSE(ToJson(status).contains("progress"));

  kube::Json json = ToJson(status);
  json["progress"] = ProgressToJson(*status.progress);
  EXPECT_EQ(StatusFromJson(json), status);
}

TEST(StatusTest, OmitsNonFiniteNumbers) {
  const kube::Json json = ProgressToJson({1, std::nan(""), {}, {{"loss", std::nan("")}, {"lr", 0.1}}, At(0), "", {}});
  EXPECT_EQ(json["percent"], 0);
  EXPECT_THAT(json["metrics"], SizeIs(1));
}

TEST(StatusTest, ReadsMalformedStatusWithoutError) {
  for (
      const char* text :
      {"{}", "[]", "null", "7", R"({"conditions": 7, "incarnation": "x", "attempts": [], "partition": 3})",
       R"({"conditions": [7, {"type": 7}, {"status": "True"}, null], "images": {"a": 1}, "replicaStatuses": {"a": 3}})",
       R"({"incarnation": -4, "lastError": {"exitCode": 70000}, "progress": {"metrics": [1]}, "phase": "Odd"})",
       R"({"startTime": "yesterday", "childRefs": [[], {"kind": 3}], "trainerReplicas": 1e99})"}) {
    const Result<kube::Json> json = kube::ParseJson(text);
    ASSERT_TRUE(json.ok()) << text;
    const Status status = StatusFromJson(*json);
    EXPECT_GE(status.incarnation, 0) << text;
    EXPECT_EQ(status.phase, Phase::kPending) << text;
    EXPECT_THAT(status.conditions, SizeIs(0)) << text;
    EXPECT_EQ(status.started_at, std::nullopt) << text;
  }
}

TEST(StatusTest, FirstConditionOfTypeWins) {
  const Status status = StatusFromJson(*kube::ParseJson(
      R"({"conditions": [{"type": "Failed", "status": "True"}, {"type": "Failed", "status": "False"}]})"));
  EXPECT_THAT(status.conditions, SizeIs(1));
  EXPECT_TRUE(IsTerminal(status));
}

// Conditions of other writers stay in the list, which is merged by type, until those writers remove them.
TEST(StatusTest, DropsUnknownConditions) {
  const Status status = StatusFromJson(*kube::ParseJson(
      R"({"conditions": [{"type": "Audited", "status": "True"}, {"type": "Accepted", "status": "True"}]})"));
  EXPECT_THAT(status.conditions, ElementsAre(Field(&Condition::type, kAccepted)));
}

TEST(SetConditionTest, KeepsTheTimeUnlessTheStatusChanges) {
  Status status;
  SetCondition(&status, {kServersReady, ConditionStatus::kFalse, "Starting", "0 of 2"}, At(1));
  SetCondition(&status, {kServersReady, ConditionStatus::kFalse, "Starting", "1 of 2"}, At(2));
  EXPECT_EQ(FindCondition(status, kServersReady)->last_transition, At(1));
  EXPECT_EQ(FindCondition(status, kServersReady)->message, "1 of 2");
  SetCondition(&status, {kServersReady, ConditionStatus::kTrue, "Ready", ""}, At(3) + std::chrono::microseconds(5));
  EXPECT_EQ(FindCondition(status, kServersReady)->last_transition, At(3));
  EXPECT_THAT(status.conditions, SizeIs(1));
}

TEST(SetConditionTest, SortsConditionsByStage) {
  Status status;
  for (const char* type : {kFailed, kAccepted, kRestarting, kPartitioned}) {
    SetCondition(&status, {type, ConditionStatus::kTrue, "R", ""}, At(0));
  }
  EXPECT_THAT(status.conditions, ElementsAre(Field(&Condition::type, kAccepted), Field(&Condition::type, kPartitioned),
                                             Field(&Condition::type, kRestarting), Field(&Condition::type, kFailed)));
}

TEST(CutMessageTest, KeepsTheCauseAtTheEndOfATrace) {
  EXPECT_EQ(CutMessage("short"), "short");
  const std::string cut = CutMessage("the model failed\n" + std::string(2000, 'x') + "\nRuntimeError: the cause");
  EXPECT_EQ(cut.size(), kMaxMessageBytes);
  EXPECT_EQ(cut.rfind("the model failed ... ", 0), 0u);
  EXPECT_EQ(cut.substr(cut.size() - 24), "\nRuntimeError: the cause");
}

TEST(StatusTest, ReasonsAreValidInKubernetes) {
  Status status;
  SetCondition(&status, {kAccepted, ConditionStatus::kTrue, "", ""}, At(0));
  EXPECT_EQ(ToJson(status)["conditions"][0]["reason"], "Accepted");
}

}  // namespace
}  // namespace espalier::ctl::api
