// Tests runs of a document's script, with fake role binaries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "services/base/sha256.h"
#include "services/runner/run/testing/fake_roles.h"
#include "services/runner/run/testing/read_text.h"
#include "services/storage/open_store.h"
#include "services/storage/testing/put_text.h"
#include "services/storage/testing/s3_server.h"

namespace espalier::run {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr char kScriptText[] = "echo \"$0:$1\" > $ESPALIER_OUTPUT/told.$ESPALIER_RANK\n";

class RunScriptTest : public FakeRolesTest {
 protected:
  // `script` is the value of spec.trainers.program.script.
  RunOptions OptionsWith(const std::string& script) const {
    RunOptions options = Options();
    options.environment = {{"PATH", "/usr/bin:/bin"}};
    options.settings = {"runPolicy.backoffLimit=0",
                        "trainers.program={command: [sh], args: [--rate], script: " + script + "}"};
    return options;
  }
  std::string FileWith(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / name) << text;
    return (root_ / name).string();
  }
  std::string Told() const { return ReadText(root_ / "out/told.1"); }
  // Returns what the program writes to out/told.1 for a script in the run's folder.
  std::string ToldOf(const std::string& path) const { return (root_ / "out/run/script" / path).string() + ":--rate\n"; }
};

TEST_F(RunScriptTest, AFileRunsOnEveryRank) {
  const RunOutcome outcome = RunQuietly(OptionsWith("{uri: " + FileWith("train.sh", kScriptText) + "}"));
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_EQ(Told(), ToldOf("train.sh"));
}

TEST_F(RunScriptTest, AnArchiveRunsItsEntrypoint) {
  fs::create_directories(root_ / "jobs/src");
  FileWith("jobs/src/train.sh", kScriptText);
  ASSERT_EQ(std::system(("tar -C '" + root_.string() + "/jobs' -czf '" + root_.string() + "/jobs.tgz' .").c_str()), 0);
  const std::string uri = (root_ / "jobs.tgz").string();
  const RunOutcome outcome = RunQuietly(OptionsWith("{uri: " + uri + ", entrypoint: src/train.sh}"));
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_EQ(Told(), ToldOf("src/train.sh"));

  const RunOutcome absent = RunQuietly(OptionsWith("{uri: " + uri + ", entrypoint: main.sh}"));
  EXPECT_EQ(absent.code, ExitCode::kBadInput);
  EXPECT_THAT(absent.error, HasSubstr("the archive has no file 'main.sh'"));
}

TEST_F(RunScriptTest, OtherDigestStartsNothing) {
  const std::string uri = FileWith("train.sh", kScriptText);
  const std::string digest = Sha256Hex(kScriptText);
  const std::string other(64, 'a');
  const RunOutcome refused = RunQuietly(OptionsWith("{uri: " + uri + ", sha256: " + other + "}"));
  EXPECT_EQ(refused.code, ExitCode::kBadInput);
  EXPECT_THAT(refused.error, HasSubstr("has SHA-256 " + digest + ", but the job expects " + other));
  EXPECT_FALSE(fs::exists(root_ / "out/run/partitioner.args"));
  EXPECT_EQ(RunQuietly(OptionsWith("{uri: " + uri + ", sha256: " + digest + "}")).code, ExitCode::kDone);
}

TEST_F(RunScriptTest, NamesMissingScript) {
  const RunOutcome absent = RunQuietly(OptionsWith("{uri: " + (root_ / "absent.sh").string() + "}"));
  EXPECT_EQ(absent.code, ExitCode::kBadInput);
  EXPECT_THAT(absent.error, HasSubstr("spec.trainers.program.script: "));
  EXPECT_THAT(absent.error, HasSubstr("absent.sh"));
}

TEST_F(RunScriptTest, AConfigMapIsRefusedWithARemedy) {
  const RunOutcome outcome = RunQuietly(OptionsWith("{configMapKeyRef: {name: code, key: train.sh}}"));
  EXPECT_EQ(outcome.code, ExitCode::kBadDocument);
  EXPECT_THAT(outcome.error, HasSubstr("only a cluster has ConfigMaps"));
  EXPECT_THAT(outcome.error, HasSubstr("--set 'trainers.program.script={uri: FILE}'"));
}

TEST_F(RunScriptTest, ProgramOfCommandLineReplacesScript) {
  RunOptions options = OptionsWith("{uri: " + (root_ / "absent.sh").string() + "}");
  options.roles.program = {"/bin/true"};
  EXPECT_EQ(RunQuietly(options).code, ExitCode::kDone);
}

TEST_F(RunScriptTest, AnObjectOfABucketRuns) {
  const auto server = storage::S3Server::StartMock("");
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  const storage::S3Settings& s3 = (*server)->settings();
  const auto bucket = storage::OpenStore("s3://" + (*server)->bucket() + "/code", {.s3 = s3});
  ASSERT_TRUE(bucket.ok());
  ASSERT_TRUE(storage::PutText(*bucket->store, "train.sh", kScriptText).ok());
  RunOptions options = OptionsWith("{uri: 's3://" + (*server)->bucket() + "/code/train.sh'}");
  options.settings.push_back("storage.s3.endpoint=" + s3.endpoint);
  options.environment["AWS_ACCESS_KEY_ID"] = s3.credentials.access_key_id;
  options.environment["AWS_SECRET_ACCESS_KEY"] = s3.credentials.secret_access_key.Reveal();
  const RunOutcome outcome = RunQuietly(options);
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  EXPECT_EQ(Told(), ToldOf("train.sh"));
}

}  // namespace
}  // namespace espalier::run
