// Test fixture: launches with fake role binaries and a script instead of ssh, which runs the host's command on this
// machine. services/tests/scenarios/launch.py uses the real ssh between real hosts.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "services/job/testing/example_job.h"
#include "services/runner/launch/launch.h"
#include "services/runner/run/testing/read_text.h"
#include "services/telemetry/process.h"

namespace espalier::launch {

// One host, 127.0.0.1, and a job with 2 partitions, 2 trainers and 1 sampler.
class FakeHostTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "bin");
    Write("job.yaml", job::kExampleJob);
    Write("hosts", "127.0.0.1 0\n");
    Write("bin/version", "1");
    for (const char* name : {"espalier-partitioner", "espalier-graph-server", "espalier-sampler", "espalier-trainer",
                             "espalier-trainer-process"}) {
      std::filesystem::create_symlink(ESPALIER_FAKE_ROLE, root_ / "bin" / name);
    }
    std::filesystem::create_symlink(ESPALIER_FAKE_HOST, root_ / "bin/espalier");
    SetSshScript("for word; do :; done\necho 'You have mail.'\nexec sh -c \"$word\"\n");
    telemetry::StopSignal::Install().ResetForTesting();
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  // Paths are relative to root_.
  void Write(const std::string& path, const std::string& text) const {
    std::ofstream(root_ / path, std::ios::binary) << text;
  }
  std::string Read(const std::string& path) const { return run::ReadText(root_ / path); }

  void SetSshScript(const std::string& script) const {
    Write("ssh", "#!/bin/sh\n" + script);
    std::filesystem::permissions(root_ / "ssh", std::filesystem::perms::owner_all);
  }
  // Appends a line to the file that controls the fake role binaries (run/testing/fake_role_main.cc).
  void Let(const std::string& behavior) const {
    std::ofstream(root_ / "bin/behavior", std::ios::app) << behavior << "\n";
  }

  ConnectOptions Connection() const {
    ConnectOptions connect;
    connect.hosts_file = root_ / "hosts";
    connect.session.ssh.program = root_ / "ssh";
    connect.session.program = root_ / "bin/espalier";
    connect.session.version = "1";
    return connect;
  }
  LaunchOptions Options() const {
    LaunchOptions options;
    options.connect = Connection();
    options.run.job_file = root_ / "job.yaml";
    options.run.settings = {"samplers.replicas=1", "runPolicy.backoffLimit=2"};
    options.run.output_folder = root_ / "out";
    options.run.roles.program_folder = root_ / "bin";
    options.run.ready_deadline = std::chrono::seconds(60);
    options.run.stop_grace = std::chrono::seconds(60);
    return options;
  }
  static run::RunOutcome LaunchQuietly(const LaunchOptions& options) {
    terminal::Progress progress(terminal::ProgressStyle::kQuiet, stderr);
    return Launch(options, progress);
  }
  run::RunOutcome LaunchQuietly() const { return LaunchQuietly(Options()); }
  // Returns the arguments and environment of a process of the host, one a line.
  std::string ReadArguments(const std::string& child) const { return Read("out/hosts/0/run/" + child + ".args"); }

  const std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("espalier-launch-") + testing::UnitTest::GetInstance()->current_test_info()->test_suite_name() +
       testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(getpid()));
};

}  // namespace espalier::launch
