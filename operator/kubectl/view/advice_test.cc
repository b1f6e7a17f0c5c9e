#include "operator/kubectl/view/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kubectl/view/testing/jobs.h"
#include "operator/plan/reasons.h"
#include "services/telemetry/termination.h"

namespace espalier::ctl::view {
namespace {

using ::testing::HasSubstr;

TEST(AdviceTest, CoversEveryReason) {
  for (const char* reason : {plan::kInvalidSpec,
                             plan::kInvalidTemplate,
                             plan::kSecretMissing,
                             plan::kSecretKeyMissing,
                             plan::kFailedMount,
                             plan::kNameTaken,
                             plan::kRefused,
                             plan::kFailedCreate,
                             plan::kUnschedulable,
                             plan::kImagePull,
                             plan::kContainerConfig,
                             plan::kContainerCreation,
                             plan::kCrashLoop,
                             plan::kOutOfMemory,
                             plan::kSignal,
                             plan::kDisrupted,
                             plan::kNodeLost,
                             plan::kPodRejected,
                             plan::kOtherExit,
                             plan::kResultLost,
                             plan::kNoEvidence,
                             plan::kDeadlineExceeded,
                             plan::kHeldByContainers,
                             plan::kSidecarFailed,
                             plan::kJobSuspended,
                             plan::kCertificatesReplaced,
                             plan::kNotAllowed,
                             plan::kScriptChanged,
                             plan::kPodGroupsUnavailable}) {
    EXPECT_NE(AdviceFor(reason, "trainer"), "") << reason;
  }
  for (const ExitCode code : {ExitCode::kBadDocument, ExitCode::kBadInput, ExitCode::kBug, ExitCode::kUnavailable,
                              ExitCode::kAskedToStop, ExitCode::kBadCredentials}) {
    EXPECT_NE(AdviceFor(telemetry::TerminationReason(code), "trainer"), "") << static_cast<int>(code);
  }
  EXPECT_EQ(AdviceFor("SomebodyElses", "trainer"), "");
}

TEST(AdviceTest, NamesTheRolesFieldOfTheDocument) {
  EXPECT_THAT(AdviceFor(plan::kOutOfMemory, "server"), HasSubstr("spec.servers.resources.limits.memory"));
  EXPECT_THAT(AdviceFor(plan::kOutOfMemory, ""), HasSubstr("spec.<role>.resources"));
}

TEST(AdviceTest, NamesFlagsOfPolicyOnPods) {
  for (const char* flag :
       {"--allowed-service-accounts", "--allowed-images", "--secret-label", "--allowed-scripts", "--script-endpoint"}) {
    EXPECT_THAT(AdviceFor(plan::kNotAllowed, ""), HasSubstr(flag));
  }
}

TEST(AdviceTest, ExplainsMissingPermissions) {
  const std::string reason = telemetry::TerminationReason(ExitCode::kBadCredentials);
  EXPECT_THAT(AdviceFor(reason, "trainer", "GET s3://lab/x: AccessDenied"), HasSubstr("spec.storage.s3.credentials"));
  for (const char* message : {"/etc/espalier/tls/tls.crt against /etc/espalier/tls/ca.crt: certificate has expired",
                              "a certificate with 0 URI names, where exactly one is expected"}) {
    EXPECT_THAT(AdviceFor(reason, "trainer", message), HasSubstr("spec.tls.secretName")) << message;
    EXPECT_THAT(AdviceFor(reason, "trainer", message), ::testing::Not(HasSubstr("s3"))) << message;
  }
}

TEST(AdviceTest, BackoffLimitUsesLastFailure) {
  EXPECT_EQ(ReasonToActOn(testing::Parsed(testing::FailedJobJson()).status), plan::kOutOfMemory);
  EXPECT_EQ(ReasonToActOn(testing::Parsed(testing::SucceededJobJson()).status), "");
  EXPECT_EQ(ReasonToActOn(testing::Parsed(testing::TrainingJobJson()).status), "");

  api::DistTraining late = testing::Parsed(testing::FailedJobJson());
  api::SetCondition(&late.status,
                    {.type = api::kFailed, .status = api::ConditionStatus::kTrue, .reason = plan::kDeadlineExceeded},
                    testing::Now());
  EXPECT_EQ(ReasonToActOn(late.status), plan::kDeadlineExceeded);

  api::DistTraining refused = testing::Parsed(testing::TrainingJobJson());
  api::SetCondition(&refused.status,
                    {.type = api::kAccepted, .status = api::ConditionStatus::kFalse, .reason = plan::kInvalidSpec},
                    testing::Now());
  EXPECT_EQ(ReasonToActOn(refused.status), plan::kInvalidSpec);
}

TEST(ExitCodeTest, HasAMeaning) {
  EXPECT_EQ(ExitCodeText(65), "bad input");
  EXPECT_EQ(ExitCodeText(137), "killed by signal 9 (SIGKILL)");
  EXPECT_EQ(ExitCodeText(139), "killed by signal 11 (SIGSEGV)");
  EXPECT_EQ(ExitCodeText(3), "not one of Espalier's exit codes");
  EXPECT_EQ(ExitCodeText(-1), "not one of Espalier's exit codes");
}

}  // namespace
}  // namespace espalier::ctl::view
