#include "services/runner/run/plugin_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "services/runner/run/commands.h"

namespace espalier::run {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST(PluginPathTest, RelativePathsStartAtFolder) {
  EXPECT_EQ(PluginPath("/opt/a.so", "/srv/job"), "/opt/a.so");
  EXPECT_EQ(PluginPath("build/a.so", "/srv/job"), "/srv/job/build/a.so");
  EXPECT_EQ(PluginPath("./build/../a.so", "/srv/job"), "/srv/job/a.so");
  EXPECT_EQ(PluginPath("a.so", ""), (std::filesystem::current_path() / "a.so").string());
}

TEST(PluginPathTest, NamesMissingPlugin) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("espalier-plugin-path-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "folder.so");
  std::ofstream(folder / "a.so") << "anything";
  EXPECT_TRUE(CheckPluginFiles({}, folder).ok());
  EXPECT_TRUE(CheckPluginFiles({{"a", "a.so"}}, folder).ok());
  const Status missing = CheckPluginFiles({{"a", "a.so"}, {"degrees", "none.so"}}, folder);
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), AllOf(HasSubstr("'degrees'"), HasSubstr((folder / "none.so").string())));
  EXPECT_EQ(CheckPluginFiles({{"a", "folder.so"}}, folder).code(), StatusCode::kInvalidArgument);
  std::filesystem::remove_all(folder);
}

TEST(ServerCommandTest, HasPluginPathsOfHost) {
  Site site{.paths = RunPaths("/srv/job/run"), .program_folder = "/usr/bin"};
  site.working_folder = "/srv/job";  // the workspace of a host
  job::DistTraining job;
  EXPECT_THAT(ServerCommand(site, job, 1, {}).arguments, Not(Contains("--plugin")));
  job.server_plugins = {{"degrees", "build/degrees.so"}, {"other", "/opt/other.so"}};
  const process::ChildSpec spec = ServerCommand(site, job, 1, {});
  std::string line;
  for (const std::string& argument : spec.arguments) line += argument + "\n";
  EXPECT_THAT(line, HasSubstr("--plugin\ndegrees=/srv/job/build/degrees.so\n--plugin\nother=/opt/other.so\n"));
  // Not inherited from the caller's environment.
  EXPECT_EQ(spec.environment.at("ESPALIER_PLUGINS"), "");
}

}  // namespace
}  // namespace espalier::run
