#include "services/format/source/source_files.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "services/storage/testing/temporary_folder.h"

namespace espalier::format {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

TEST(ListFilesBelowTest, FollowsLinksExceptToFoldersAbove) {
  const storage::TemporaryFolder folder;
  const fs::path root = folder.path();
  fs::create_directory(root / "v1");
  std::ofstream(root / "v1" / "edge.csv") << "0,1\n";
  fs::create_directory_symlink("v1", root / "raw");
  fs::create_directory_symlink("..", root / "v1" / "up");
  const auto names = ListFilesBelow(root, nullptr);
  ASSERT_TRUE(names.ok()) << names.status().ToString();
  EXPECT_THAT(*names, ElementsAre("raw/edge.csv", "v1/edge.csv"));
}

}  // namespace
}  // namespace espalier::format
