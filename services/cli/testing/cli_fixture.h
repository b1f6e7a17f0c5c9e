// Test fixture that runs the binary `espalier` in a temporary folder.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace espalier::cli {

// How the process ended. `code` is 1000 plus the signal's number if a signal killed the process.
struct Ended {
  int code = -1;
  std::string output;
  std::string error;
};

class CliTest : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(testing::TempDir()) /
            (std::string("espalier-cli-") + info->name() + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  // Runs `espalier` in the test's folder. The shell expands `arguments`.
  Ended Espalier(const std::string& arguments) const {
    const std::string command =
        "cd '" + root_.string() + "' && '" ESPALIER_BINARY "' " + arguments + " 2>stderr.txt </dev/null";
    std::FILE* pipe = popen(command.c_str(), "r");
    Ended ended;
    std::array<char, 4096> buffer;
    for (size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
      ended.output.append(buffer.data(), n);
    const int state = pclose(pipe);
    ended.code = WIFEXITED(state) ? WEXITSTATUS(state) : 1000 + WTERMSIG(state);
    std::ifstream error(root_ / "stderr.txt");
    ended.error = {std::istreambuf_iterator<char>(error), {}};
    return ended;
  }
  static std::string ReadText(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void MakeGraph() const {
    const Ended made = Espalier("generate -q --nodes 300 --edges 2000 --features 4 --classes 3 --seed 7 -o graph");
    ASSERT_EQ(made.code, 0) << made.error;
  }

  std::filesystem::path root_;
};

}  // namespace espalier::cli
