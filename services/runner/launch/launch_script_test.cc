// Tests launches whose document names a script, with a fake ssh, a fake host and fake role binaries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "services/base/sha256.h"
#include "services/job/testing/example_job.h"
#include "services/runner/launch/launch.h"
#include "services/telemetry/process.h"

namespace espalier::launch {
namespace {

class LaunchScriptTest : public testing::Test {
 protected:
  LaunchScriptTest() {
    std::filesystem::create_directories(root_ / "bin");
    Write("job.yaml", job::kExampleJob);
    Write("hosts", "127.0.0.1 0\n");
    Write("bin/version", "1");
    for (const char* name : {"espalier-partitioner", "espalier-graph-server", "espalier-sampler", "espalier-trainer",
                             "espalier-trainer-process"}) {
      std::filesystem::create_symlink(ESPALIER_FAKE_ROLE, root_ / "bin" / name);
    }
    std::filesystem::create_symlink(ESPALIER_FAKE_HOST, root_ / "bin/espalier");
    Write("ssh", "#!/bin/sh\nfor word; do :; done\nexec sh -c \"$word\"\n");
    std::filesystem::permissions(root_ / "ssh", std::filesystem::perms::owner_all);
    telemetry::StopSignal::Install().ResetForTesting();
  }
  ~LaunchScriptTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    std::ofstream(root_ / path, std::ios::binary) << text;
  }
  std::string Read(const std::string& path) const {
    std::ifstream file(root_ / path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Launches a job with 2 trainers. `script` is the value of spec.trainers.program.script.
  run::RunOutcome LaunchWith(const std::string& script) const {
    LaunchOptions options;
    options.connect.hosts_file = root_ / "hosts";
    options.connect.session.ssh.program = root_ / "ssh";
    options.connect.session.program = root_ / "bin/espalier";
    options.connect.session.version = "1";
    options.fleet.workspace = root_ / "work";
    options.run.job_file = root_ / "job.yaml";
    options.run.settings = {"trainers.program={command: [sh], args: [two words], script: " + script + "}"};
    options.run.output_folder = root_ / "out";
    options.run.roles.program_folder = root_ / "bin";
    options.run.ready_deadline = std::chrono::seconds(60);
    options.run.stop_grace = std::chrono::seconds(60);
    terminal::Progress progress(terminal::ProgressStyle::kQuiet, stderr);
    return Launch(options, progress);
  }

  const std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) / ("espalier-launch-script-" + std::to_string(getpid()));
};

TEST_F(LaunchScriptTest, CopiesScriptToWorkspaces) {
  Write("train.sh", "(pwd; echo \"$0 $1\") > told.$ESPALIER_RANK\n");
  const run::RunOutcome outcome = LaunchWith("{uri: " + (root_ / "train.sh").string() + "}");
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  const std::string folder = "script-" + Sha256Hex(Read("train.sh")).substr(0, 16);
  EXPECT_EQ(Read("work/told.1"), (root_ / "work").string() + "\n" + folder + "/train.sh two words\n");
  EXPECT_EQ(Read("work/" + folder + "/train.sh"), Read("train.sh"));
}

TEST_F(LaunchScriptTest, AnotherDigestAndAConfigMapAreRefused) {
  Write("train.sh", "true\n");
  const run::RunOutcome changed =
      LaunchWith("{uri: " + (root_ / "train.sh").string() + ", sha256: " + std::string(64, 'a') + "}");
  EXPECT_EQ(changed.code, ExitCode::kBadInput);
  EXPECT_THAT(changed.error, testing::HasSubstr("but the job runs only " + std::string(64, 'a')));

  const run::RunOutcome config_map = LaunchWith("{configMapKeyRef: {name: code, key: train.sh}}");
  EXPECT_EQ(config_map.code, ExitCode::kBadDocument);
  EXPECT_THAT(config_map.error, testing::HasSubstr("only a cluster has ConfigMaps"));
}

}  // namespace
}  // namespace espalier::launch
