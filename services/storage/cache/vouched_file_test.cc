#include "services/storage/cache/vouched_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "services/storage/testing/temporary_folder.h"

namespace espalier::storage {
namespace {

class VouchedFileTest : public ::testing::Test {
 protected:
  VouchedFileTest() { Write(path(), "bytes"); }

  static void Write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  static Deadline Soon() { return Deadline::After(std::chrono::seconds(30)); }
  std::string path() const { return folder_.path() + "/f"; }
  // A voucher where somebody vouches for the file.
  std::optional<Voucher> Taken() const {
    Result<std::optional<Voucher>> word = TakeWord(path());
    EXPECT_TRUE(word.ok()) << word.status().ToString();
    return word.ok() ? *std::move(word) : std::nullopt;
  }

  const TemporaryFolder folder_;
};

TEST_F(VouchedFileTest, NobodyVouchesForWhatNobodyHasLookedAt) {
  EXPECT_FALSE(Taken().has_value());
  EXPECT_FALSE(Taken().has_value());  // asking is no word
}

TEST_F(VouchedFileTest, TheWordStandsWhileAnyoneWhoTookItIsThere) {
  std::optional<Voucher> first = *Vouch(path(), Soon());
  std::optional<Voucher> second = Taken();
  ASSERT_TRUE(second.has_value());
  first.reset();
  std::optional<Voucher> third = Taken();
  ASSERT_TRUE(third.has_value());
  second.reset();
  third.reset();
  EXPECT_FALSE(Taken().has_value());
}

TEST_F(VouchedFileTest, AFileThatTakesItsPlaceIsAnother) {
  const Result<Voucher> voucher = Vouch(path(), Soon());
  ASSERT_TRUE(voucher.ok()) << voucher.status().ToString();
  Write(path() + ".new", "bytes");
  std::filesystem::rename(path() + ".new", path());
  EXPECT_FALSE(Taken().has_value());
  const Result<Voucher> again = Vouch(path(), Soon());
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(Taken().has_value());
}

TEST_F(VouchedFileTest, AFileThatGrewIsAnother) {
  const Result<Voucher> voucher = Vouch(path(), Soon());
  ASSERT_TRUE(voucher.ok()) << voucher.status().ToString();
  Write(path(), "other bytes");
  EXPECT_FALSE(Taken().has_value());
}

// Whoever asks for a word holds the mark alone for an instant.
TEST_F(VouchedFileTest, AWordIsGivenOnceNobodyAsksForOne) {
  ASSERT_TRUE(Vouch(path(), Soon()).ok());
  std::string mark;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    if (file.path() != path()) mark = file.path();
  }
  std::optional<FileLock> asking = *FileLock::TryAcquire(mark, LockMode::kExclusive);
  EXPECT_EQ(Vouch(path(), Deadline::After(std::chrono::seconds(0))).status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(Vouch(path(), Soon(), [] { return true; }).status().code(), StatusCode::kCancelled);
  asking.reset();
  EXPECT_TRUE(Vouch(path(), Soon()).ok());
}

TEST_F(VouchedFileTest, TheKernelTakesBackTheWordOfAProcessThatDies) {
  EXPECT_EXIT(
      {
        const Result<Voucher> voucher = Vouch(path(), Soon());
        _exit(voucher.ok() && TakeWord(path())->has_value() ? 7 : 1);
      },
      ::testing::ExitedWithCode(7), "");
  EXPECT_FALSE(Taken().has_value());
}

TEST_F(VouchedFileTest, AFileThatIsNotThereIsAnError) {
  EXPECT_EQ(TakeWord(folder_.path() + "/none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Vouch(folder_.path() + "/none", Soon()).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace espalier::storage
