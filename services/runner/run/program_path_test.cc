#include "services/runner/run/program_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace espalier::run {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FindProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("espalier-find-program-" + std::to_string(getpid()));
    fs::create_directories(root_ / "bin");
    std::ofstream(root_ / "bin/train") << "#!/bin/sh\n";
    fs::permissions(root_ / "bin/train", fs::perms::owner_all);
    std::ofstream(root_ / "bin/notes") << "text\n";
    fs::permissions(root_ / "bin/notes", fs::perms::owner_read);
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string Path(const std::string& below) const { return (root_ / below).string(); }

  fs::path root_;
};

TEST_F(FindProgramTest, SearchesPathUnlessNameHasSlash) {
  EXPECT_EQ(*FindProgram(Path("bin/train"), "", ""), Path("bin/train"));
  EXPECT_EQ(*FindProgram("bin/train", root_.string(), ""), Path("bin/train"));
  EXPECT_EQ(*FindProgram("./train", Path("bin"), ""), Path("bin/train"));
  EXPECT_EQ(*FindProgram("train", "", "/nowhere::" + Path("bin")), Path("bin/train"));
}

TEST_F(FindProgramTest, NamesProgramThatIsNotExecutable) {
  EXPECT_EQ(FindProgram("bin/none", root_.string(), "").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(FindProgram("bin", root_.string() + "/.", "").status().message(), HasSubstr("in no folder of PATH"));
  EXPECT_EQ(FindProgram("./bin", root_.string(), "").status().code(), StatusCode::kInvalidArgument);
  if (geteuid() != 0) {
    EXPECT_EQ(FindProgram("bin/notes", root_.string(), "").status().code(), StatusCode::kPermissionDenied);
  }
  EXPECT_THAT(FindProgram("train", "", "/nowhere").status().message(),
              testing::AllOf(HasSubstr("PATH (/nowhere)"), HasSubstr("./train")));
}

}  // namespace
}  // namespace espalier::run
