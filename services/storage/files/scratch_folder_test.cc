#include "services/storage/files/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "services/storage/testing/temporary_folder.h"

namespace espalier::storage {
namespace {

using ::testing::HasSubstr;

// Sets TMPDIR during its lifetime.
class TmpdirIs {
 public:
  explicit TmpdirIs(const std::string& value) {
    if (const char* const before = std::getenv("TMPDIR"); before != nullptr) before_ = before;
    setenv("TMPDIR", value.c_str(), /*overwrite=*/1);
  }
  ~TmpdirIs() { before_.has_value() ? setenv("TMPDIR", before_->c_str(), 1) : unsetenv("TMPDIR"); }
  TmpdirIs(const TmpdirIs&) = delete;
  TmpdirIs& operator=(const TmpdirIs&) = delete;

 private:
  std::optional<std::string> before_;
};

TEST(ScratchFolderTest, ComesFromEnvironment) {
  const TemporaryFolder folder;
  const TmpdirIs tmpdir(folder.path());
  const Result<std::string> found = ScratchFolder();
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(*found, folder.path());
}

TEST(ScratchFolderTest, ReportsInvalidFolder) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/file";
  std::ofstream(file) << "no folder";
  for (const std::string& wrong : {file, folder.path() + "/none"}) {
    const TmpdirIs tmpdir(wrong);
    const Status refused = ScratchFolder().status();
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << wrong;
    EXPECT_THAT(refused.message(), HasSubstr("TMPDIR"));
  }
}

}  // namespace
}  // namespace espalier::storage
