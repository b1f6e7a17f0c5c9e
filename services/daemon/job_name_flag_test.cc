#include "services/daemon/job_name_flag.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace espalier::daemon {
namespace {

using ::testing::HasSubstr;

constexpr char kNameVariable[] = "ESPALIER_JOB_NAME";

// Returns the name after parsing `arguments`, or the error.
std::string NameAfter(const std::string& arguments) {
  CLI::App app;
  std::string name = "before";
  AddJobNameFlag(app, &name, "of the job");
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return std::string("error: ") + error.what();
  }
  return name;
}

TEST(JobNameFlagTest, OptionOverridesVariable) {
  unsetenv(kNameVariable);
  EXPECT_EQ(NameAfter(""), "before");
  setenv(kNameVariable, "", 1);
  EXPECT_EQ(NameAfter(""), "before") << "set to nothing counts as not set";
  setenv(kNameVariable, "weekly", 1);
  EXPECT_EQ(NameAfter(""), "weekly");
  EXPECT_EQ(NameAfter("--job-name nightly-2.a"), "nightly-2.a");
  unsetenv(kNameVariable);
}

TEST(JobNameFlagTest, RefusesInvalidJobNames) {
  unsetenv(kNameVariable);
  EXPECT_THAT(NameAfter("--job-name default/cora"),
              HasSubstr("job 'default/cora' is not a name: expected only letters"));
  EXPECT_THAT(NameAfter("--job-name " + std::string(200, 'a')), HasSubstr("more than 128 characters"));
}

}  // namespace
}  // namespace espalier::daemon
