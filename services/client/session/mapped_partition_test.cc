// Checks of whether the files of a server may be mapped. The path of the nonce file comes from a peer and may name any
// kind of file.
#include "services/client/session/mapped_partition.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace espalier::client {
namespace {

class SharesFilesWithTest : public ::testing::Test {
 protected:
  SharesFilesWithTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "espalier-nonce-XXXXXX").string();
    ESPALIER_CHECK(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
  }
  ~SharesFilesWithTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& contents) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << contents;
    return path;
  }
  static bool Shares(const std::string& path, const std::string& nonce) {
    graph::v1::MappedFiles files;
    files.set_nonce_path(path);
    files.set_nonce(nonce);
    return RunsOnServerHost(files);
  }

  std::filesystem::path folder_;
};

TEST_F(SharesFilesWithTest, RequiresSameContents) {
  const std::string path = Write("nonce", "0123456789abcdef");
  EXPECT_TRUE(Shares(path, "0123456789abcdef"));
  EXPECT_FALSE(Shares(path, "0123456789abcdeX"));
  EXPECT_FALSE(Shares(path, "0123456789abcde"));
  EXPECT_FALSE(Shares(path, "0123456789abcdef0"));
  EXPECT_FALSE(Shares(path, ""));
  EXPECT_FALSE(Shares((folder_ / "missing").string(), "0123456789abcdef"));
  EXPECT_FALSE(Shares("", "0123456789abcdef"));
}

TEST_F(SharesFilesWithTest, RequiresRegularFile) {
  EXPECT_FALSE(Shares(folder_.string(), "x"));
  EXPECT_FALSE(Shares("/dev/zero", std::string(4, '\0')));
  const std::string link = (folder_ / "link").string();
  std::filesystem::create_symlink(Write("nonce", "abcd"), link);
  EXPECT_FALSE(Shares(link, "abcd"));
  // A blocking open of the pipe would wait for a writer.
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(Shares(pipe, "abcd"));
}

}  // namespace
}  // namespace espalier::client
