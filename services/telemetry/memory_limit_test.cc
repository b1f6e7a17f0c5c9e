#include "services/telemetry/memory_limit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "services/base/check.h"

namespace espalier::telemetry {
namespace {

// Simulates control groups with files in a temporary folder.
class MemoryLimitTest : public ::testing::Test {
 protected:
  MemoryLimitTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "espalier-limit-XXXXXX").string();
    ESPALIER_CHECK(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    files_ = {(folder_ / "cgroup").string(), (folder_ / "root").string()};
    std::filesystem::create_directories(folder_ / "root");
  }
  ~MemoryLimitTest() override { std::filesystem::remove_all(folder_); }

  void PutMembership(const std::string& text) { std::ofstream(folder_ / "cgroup") << text; }
  void PutLimit(const std::string& group, const std::string& text, const char* file = "memory.max") {
    std::filesystem::create_directories(folder_ / "root" / group);
    std::ofstream(folder_ / "root" / group / file) << text << "\n";
  }

  std::filesystem::path folder_;
  ControlGroupFiles files_;
};

TEST_F(MemoryLimitTest, IsThatOfContainerInOwnNamespace) {
  PutMembership("0::/\n");
  PutLimit("", "268435456");
  EXPECT_EQ(MemoryLimitBytes(files_), 268435456u);
}

TEST_F(MemoryLimitTest, IsMinimumOfAncestors) {
  PutMembership("1:name=systemd:/elsewhere\n0::/kubepods/pod7/main\n");
  PutLimit("kubepods", "8000");
  PutLimit("kubepods/pod7", "3000");
  PutLimit("kubepods/pod7/main", "max");
  PutLimit("elsewhere", "1");
  EXPECT_EQ(MemoryLimitBytes(files_), 3000u);
}

TEST_F(MemoryLimitTest, ReadsCgroupVersion1) {
  PutMembership("4:memory:/docker/a\n0::/\n");
  PutLimit("memory", "9223372036854771712", "memory.limit_in_bytes");  // version 1's number for no limit
  PutLimit("memory/docker/a", "5000", "memory.limit_in_bytes");
  EXPECT_EQ(MemoryLimitBytes(files_), 5000u);
}

TEST_F(MemoryLimitTest, IsAbsentWithoutLimit) {
  EXPECT_EQ(MemoryLimitBytes(files_), std::nullopt);
  PutMembership("0::/a\n");
  PutLimit("a", "max");
  EXPECT_EQ(MemoryLimitBytes(files_), std::nullopt);
}

}  // namespace
}  // namespace espalier::telemetry
