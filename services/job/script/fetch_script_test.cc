#include "services/job/script/fetch_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "services/base/file.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::script {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr char kHello[] = "print('hello')\n";
// Computed by sha256sum.
constexpr char kHelloSha256[] = "03e693d9f2f687e0f40e36a8df7fcb4d1c22974012b7c2a55c000eb30f305824";

class FetchScriptTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  storage::TemporaryFolder folder_;
  const std::string target_ = folder_.path() + "/to/script";
};

TEST_F(FetchScriptTest, WritesFileUnderItsName) {
  const std::string path = Write("train.py", kHello);
  for (const std::string& uri : {path, "file:" + path, "file://" + path}) {
    const Result<ScriptFile> file = ReadScript(uri, storage::OpenerWith({}));
    ASSERT_TRUE(file.ok()) << file.status().ToString();
    EXPECT_EQ(file->name, "train.py");
    EXPECT_EQ(file->sha256, kHelloSha256);
    ASSERT_TRUE(PutScript(*file, uri, "", target_).ok());
    EXPECT_EQ(*ReadFile(target_ + "/train.py", 1000), kHello);
    struct stat found {};
    ASSERT_EQ(stat((target_ + "/train.py").c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777u, 0644u);
  }
}

// The kubelet mounts the keys of a ConfigMap as links into a folder with a timestamp as its name.
TEST_F(FetchScriptTest, ReadsAConfigMapsKey) {
  fs::create_directory(folder_.path() + "/..2026");
  Write("..2026/train.py", kHello);
  fs::create_symlink("..2026", folder_.path() + "/..data");
  fs::create_symlink("..data/train.py", folder_.path() + "/train.py");
  const Result<ScriptFile> file = ReadScript(folder_.path() + "/train.py", storage::OpenerWith({}));
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(file->bytes, kHello);
}

TEST_F(FetchScriptTest, OtherDigestIsRefusedNamingBoth) {
  const Result<ScriptFile> file = ReadScript(Write("train.py", kHello), storage::OpenerWith({}));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(CheckScriptDigest(*file, "s3://code/train.py", "").ok());
  EXPECT_TRUE(CheckScriptDigest(*file, "s3://code/train.py", kHelloSha256).ok());
  const std::string other(64, 'a');
  const Status status = CheckScriptDigest(*file, "s3://code/train.py", other);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  for (const std::string& words : {std::string("s3://code/train.py"), std::string(kHelloSha256), other,
                                   std::string("restore the expected file")}) {
    EXPECT_THAT(status.message(), HasSubstr(words));
  }
}

TEST_F(FetchScriptTest, RefusesInvalidScripts) {
  const auto read = [](const std::string& uri) { return ReadScript(uri, storage::OpenerWith({})).status(); };
  EXPECT_EQ(read(folder_.path() + "/absent.py").code(), StatusCode::kNotFound);
  EXPECT_THAT(read(Write("empty.py", "")).message(), HasSubstr("empty.py is empty"));
  const std::string large = Write("large.py", "x");
  fs::resize_file(large, kMaxScriptBytes + 1);
  EXPECT_THAT(read(large).message(), HasSubstr("expected a script of at most 67108864"));
}

TEST_F(FetchScriptTest, AnArchiveHasItsEntrypoint) {
  Write("train.py", kHello);
  ASSERT_EQ(std::system(("tar -C '" + folder_.path() + "' -czf '" + folder_.path() + "/jobs.tgz' train.py").c_str()),
            0);
  const Result<ScriptFile> file = ReadScript(folder_.path() + "/jobs.tgz", storage::OpenerWith({}));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(PutScript(*file, "jobs.tgz", "train.py", target_).ok());
  EXPECT_EQ(*ReadFile(target_ + "/train.py", 1000), kHello);
  const Status absent = PutScript(*file, "jobs.tgz", "main.py", target_);
  EXPECT_EQ(absent.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(absent.message(), HasSubstr("jobs.tgz: the archive has no file 'main.py'"));
}

}  // namespace
}  // namespace espalier::script
