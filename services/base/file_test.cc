#include "services/base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace espalier {
namespace {

using ::testing::HasSubstr;

class ReadFileTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  void Write(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }

  const std::string path_ = ::testing::TempDir() + "/espalier-file-" + std::to_string(getpid());
};

TEST_F(ReadFileTest, ReadsEveryByte) {
  const std::string text = std::string(100'000, 'a') + std::string(1, '\0') + "\r\n";
  Write(text);
  EXPECT_EQ(*ReadFile(path_, 1 << 20), text);
  Write("");
  EXPECT_EQ(*ReadFile(path_, 0), "");
}

TEST_F(ReadFileTest, RefusesFilesOverLimit) {
  const std::string text(20'000, 'a');
  Write(text);
  EXPECT_EQ(*ReadFile(path_, text.size()), text);
  const Status status = ReadFile(path_, text.size() - 1).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), path_ + " is longer than 19999 bytes");
}

TEST_F(ReadFileTest, NamesMissingFile) {
  const Status status = ReadFile(path_, 1).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "opening " + path_ + ": No such file or directory");
}

TEST_F(ReadFileTest, AFolderIsNoFile) {
  const Status status = ReadFile(::testing::TempDir(), 1 << 20).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("is a folder: expected a file"));
}

TEST_F(ReadFileTest, AReadThatFailsIsAnError) {
  // Nothing is mapped at address 0.
  const Status status = ReadFile("/proc/self/mem", 1 << 20).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("reading /proc/self/mem"));
}

TEST_F(ReadFileTest, ReadsPipes) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  EXPECT_EQ(write(ends[1], "spec: {}", 8), 8);
  close(ends[1]);
  const Result<std::string> text = ReadFile("/dev/fd/" + std::to_string(ends[0]), 8);
  close(ends[0]);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_EQ(*text, "spec: {}");
}

TEST_F(ReadFileTest, RefusesOtherFileTypesIfRegularFileIsRequired) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  for (const std::string& path : {path_, std::string("/dev/zero")}) {
    const Status status = ReadFile(path, 10, FileKinds::kRegular).status();
    EXPECT_EQ(status.message(), path + " is not a regular file");
  }
  unlink(path_.c_str());
}

}  // namespace
}  // namespace espalier
