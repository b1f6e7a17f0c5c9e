// Trainers of one machine inherit the memory in which they share feature rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/runner/run/testing/fake_roles.h"
#include "services/runner/run/testing/read_text.h"

namespace espalier::run {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SharedRowsTest : public FakeRolesTest {
 protected:
  // Runs the job with a feature cache and one restart.
  RunOutcome RunWithCache(const std::string& cache) const {
    RunOptions options = Options();
    options.settings = {"trainers.featureCache=" + cache, "runPolicy.backoffLimit=1"};
    return RunQuietly(options);
  }
  // Returns what a process has found out about its shared memory.
  std::string DescribeMemoryOf(const std::string& child) const {
    const std::string arguments = ReadText(root_ / "out" / "run" / (child + ".args"));
    const size_t begin = arguments.find("shared memory: ");
    return begin == std::string::npos ? "" : arguments.substr(begin, arguments.find('\n', begin) - begin);
  }
};

TEST_F(SharedRowsTest, TrainersShareOneMemoryAndSoDoTheirSuccessors) {
  Let("trainer-1 once:signal 9");
  const RunOutcome outcome = RunWithCache("{memory: 1Mi, sharedMemory: 3Mi}");
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  const std::string shared = DescribeMemoryOf("trainer-0");
  EXPECT_THAT(shared, AllOf(HasSubstr("shared memory: file "), HasSubstr(" of 3145728 bytes")));
  EXPECT_EQ(DescribeMemoryOf("trainer-1"), shared);
  EXPECT_EQ(DescribeMemoryOf("server-0"), "shared memory: none");
}

TEST_F(SharedRowsTest, TrainersShareNoMemoryByDefault) {
  const RunOutcome outcome = RunWithCache("{memory: 1Mi}");
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_EQ(DescribeMemoryOf("trainer-0"), "shared memory: none");
}

}  // namespace
}  // namespace espalier::run
