// Test fixture: a folder with a job and fake role binaries, whose behavior its file "behavior" controls
// (fake_role_main.cc).
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "services/job/testing/example_job.h"
#include "services/runner/run/run.h"
#include "services/telemetry/process.h"

namespace espalier::run {

// The job has 2 partitions and 2 trainers.
class FakeRolesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "bin");
    std::ofstream(root_ / "job.yaml") << job::kExampleJob;
    for (const char* name : {"espalier-partitioner", "espalier-graph-server", "espalier-sampler", "espalier-trainer"}) {
      std::filesystem::create_symlink(ESPALIER_FAKE_ROLE, root_ / "bin" / name);
    }
    telemetry::StopSignal::Install().ResetForTesting();
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  // Appends a line to the file "behavior".
  void Let(const std::string& behavior) const {
    std::ofstream(root_ / "bin" / "behavior", std::ios::app) << behavior << "\n";
  }

  RunOptions Options() const {
    RunOptions options;
    options.job_file = root_ / "job.yaml";
    options.output_folder = root_ / "out";
    options.roles.program_folder = root_ / "bin";
    options.ready_deadline = std::chrono::seconds(60);
    options.stop_grace = std::chrono::seconds(60);
    return options;
  }
  static RunOutcome RunQuietly(const RunOptions& options) {
    terminal::Progress progress(terminal::ProgressStyle::kQuiet, stderr);
    return run::Run(options, progress);
  }

  const std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) /
      (std::string("espalier-run-") + testing::UnitTest::GetInstance()->current_test_info()->test_suite_name() +
       testing::UnitTest::GetInstance()->current_test_info()->name() + std::to_string(getpid()));
};

}  // namespace espalier::run
