#include "services/storage/cache/verified_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "services/storage/testing/temporary_folder.h"

namespace espalier::storage {
namespace {

class VerifiedFileTest : public ::testing::Test {
 protected:
  VerifiedFileTest() { Write(path(), "bytes"); }

  static void Write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  static Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }
  std::string path() const { return folder_.path() + "/f"; }
  // Returns ShareHeldMark: the mark if another caller holds it.
  std::optional<HeldMark> HeldToo() const {
    Result<std::optional<HeldMark>> mark = ShareHeldMark(path());
    EXPECT_TRUE(mark.ok()) << mark.status().ToString();
    return mark.ok() ? *std::move(mark) : std::nullopt;
  }

  const TemporaryFolder folder_;
};

TEST_F(VerifiedFileTest, AFileThatWasNotVerifiedHasNoMark) {
  EXPECT_FALSE(HeldToo().has_value());
  EXPECT_FALSE(HeldToo().has_value());  // the first call holds no mark afterwards
}

TEST_F(VerifiedFileTest, TheMarkIsHeldUntilTheLastHolderReleasesIt) {
  std::optional<HeldMark> first = *HoldMark(path(), Soon());
  std::optional<HeldMark> second = HeldToo();
  ASSERT_TRUE(second.has_value());
  first.reset();
  std::optional<HeldMark> third = HeldToo();
  ASSERT_TRUE(third.has_value());
  second.reset();
  third.reset();
  EXPECT_FALSE(HeldToo().has_value());
}

TEST_F(VerifiedFileTest, ReplacedFileIsDifferent) {
  const Result<HeldMark> mark = HoldMark(path(), Soon());
  ASSERT_TRUE(mark.ok()) << mark.status().ToString();
  Write(path() + ".new", "bytes");
  std::filesystem::rename(path() + ".new", path());
  EXPECT_FALSE(HeldToo().has_value());
  const Result<HeldMark> again = HoldMark(path(), Soon());
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(HeldToo().has_value());
}

TEST_F(VerifiedFileTest, GrownFileIsDifferent) {
  const Result<HeldMark> mark = HoldMark(path(), Soon());
  ASSERT_TRUE(mark.ok()) << mark.status().ToString();
  Write(path(), "other bytes");
  EXPECT_FALSE(HeldToo().has_value());
}

// ShareHeldMark locks the mark exclusively for a moment.
TEST_F(VerifiedFileTest, HoldMarkWaitsForACheckOfTheMark) {
  ASSERT_TRUE(HoldMark(path(), Soon()).ok());
  std::string mark;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    if (file.path() != path()) mark = file.path();
  }
  std::optional<FileLock> checking = *FileLock::TryAcquire(mark, LockMode::kExclusive);
  EXPECT_EQ(HoldMark(path(), Deadline::After(std::chrono::seconds(0))).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(HoldMark(path(), Soon(), [] { return true; }).status().code(), StatusCode::kCancelled);
  checking.reset();
  EXPECT_TRUE(HoldMark(path(), Soon()).ok());
}

TEST_F(VerifiedFileTest, TheKernelReleasesTheMarkOfAProcessThatDies) {
  EXPECT_EXIT(
      {
        const Result<HeldMark> mark = HoldMark(path(), Soon());
        _exit(mark.ok() && ShareHeldMark(path())->has_value() ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
  EXPECT_FALSE(HeldToo().has_value());
}

TEST_F(VerifiedFileTest, MissingFileIsError) {
  EXPECT_EQ(ShareHeldMark(folder_.path() + "/none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(HoldMark(folder_.path() + "/none", Soon()).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace espalier::storage
