#include "services/base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

#include "services/base/exit_code.h"

namespace espalier {
namespace {

Result<int> Half(int n) {
  if (n % 2 != 0) return InvalidArgument(std::to_string(n) + " is odd");
  return n / 2;
}

Result<int> Quarter(int n) {
  ASSIGN_OR_RETURN(const int half, Half(n));
  ASSIGN_OR_RETURN(const int quarter, Half(half).While("halving the half"));
  return quarter;
}

Status CheckEven(int n) {
  RETURN_IF_ERROR(Half(n).status());
  return {};
}

TEST(StatusTest, AddsContextToErrorsOnly) {
  EXPECT_EQ(NotFound("x.npy").While("reading features").message(), "reading features: x.npy");
  EXPECT_EQ(Status().While("reading features"), Status());
}

TEST(StatusTest, PrintsGrpcsNames) {
  EXPECT_EQ(DataLoss("block 3").ToString(), "DATA_LOSS: block 3");
  EXPECT_EQ(Status().ToString(), "OK");
}

TEST(StatusTest, MacrosPassErrorsOnAndUnwrapValues) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().message(), "halving the half: 3 is odd");
  EXPECT_TRUE(CheckEven(2).ok());
  EXPECT_EQ(CheckEven(3).code(), StatusCode::kInvalidArgument);
}

TEST(StatusTest, CarriesMoveOnlyValues) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> value = *std::move(result);
  EXPECT_EQ(*value, 7);
}

TEST(StatusTest, MapsErrnoToCodes) {
  EXPECT_EQ(FromErrno(ENOENT, "opening a.csv").ToString(), "NOT_FOUND: opening a.csv: No such file or directory");
  EXPECT_EQ(FromErrno(ENOSPC, "writing").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(FromErrno(EACCES, "opening").code(), StatusCode::kPermissionDenied);
}

TEST(StatusTest, ReadingValueOfErrorIsFatal) {
  const Result<int> result = Half(3);
  EXPECT_DEATH(static_cast<void>(*result), "INVALID_ARGUMENT: 3 is odd");
}

TEST(ExitCodeTest, SeparatesBadInputFromTransientErrors) {
  EXPECT_EQ(ToExitCode(StatusCode::kOk), ExitCode::kDone);
  EXPECT_EQ(ToExitCode(StatusCode::kInvalidArgument), ExitCode::kBadInput);
  EXPECT_EQ(ToExitCode(StatusCode::kDataLoss), ExitCode::kBadInput);
  EXPECT_EQ(ToExitCode(StatusCode::kUnimplemented), ExitCode::kBadDocument);
  EXPECT_EQ(ToExitCode(StatusCode::kUnavailable), ExitCode::kUnavailable);
  EXPECT_EQ(ToExitCode(StatusCode::kCancelled), ExitCode::kAskedToStop);
  EXPECT_EQ(ToExitCode(StatusCode::kPermissionDenied), ExitCode::kBadCredentials);
  EXPECT_EQ(ToExitCode(StatusCode::kInternal), ExitCode::kBug);
}

}  // namespace
}  // namespace espalier
