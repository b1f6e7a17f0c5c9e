#include "services/server/plugin_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "services/server/plugin_functions.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Status LoadError(const std::string& path) { return PluginLibrary::Load({"degrees", path}).status(); }

TEST(ParsePluginFileTest, ReadsNameAndAbsolutePath) {
  const auto file = ParsePluginFile("degrees=/opt/a=b.so");
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  EXPECT_EQ(file->name, "degrees");
  EXPECT_EQ(file->path, "/opt/a=b.so");
  for (const char* wrong : {"", "degrees", "=/opt/a.so", "a/b=/opt/a.so", "degrees=", "degrees=a.so"}) {
    EXPECT_EQ(ParsePluginFile(wrong).status().code(), StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(PluginLibraryTest, LoadsTheFunctionsOfAPlugin) {
  const auto library = PluginLibrary::Load({"test", ESPALIER_TEST_PLUGIN});
  ASSERT_TRUE(library.ok()) << library.status().ToString();
  EXPECT_EQ(library->version(), "7.1");
  ASSERT_EQ(library->functions().size(), 10u);
  EXPECT_EQ(library->functions()[0].name, "test/echo");
  EXPECT_EQ(library->functions()[0].kind, FunctionKind::kIdempotent);
  EXPECT_EQ(library->functions()[6].name, "test/once");
  EXPECT_EQ(library->functions()[6].kind, FunctionKind::kCalledOnce);
  ASSERT_EQ(library->initializers().size(), 8u);
  EXPECT_EQ(library->initializers()[0].name, "test/fields");
}

TEST(PluginLibraryTest, LoadsPluginOfVersion1) {
  const auto library = PluginLibrary::Load({"old", ESPALIER_PLUGIN_OF_VERSION_1});
  ASSERT_TRUE(library.ok()) << library.status().ToString();
  EXPECT_EQ(library->version(), "0.9");
  ASSERT_EQ(library->functions().size(), 1u);
  EXPECT_EQ(library->functions()[0].name, "old/partition");
  EXPECT_TRUE(library->initializers().empty());
}

TEST(PluginLibraryTest, LoadsPluginOfVersion2) {
  const auto library = PluginLibrary::Load({"old", ESPALIER_PLUGIN_OF_VERSION_2});
  ASSERT_TRUE(library.ok()) << library.status().ToString();
  EXPECT_EQ(library->version(), "1.9");
  ASSERT_EQ(library->functions().size(), 2u);
  EXPECT_EQ(library->functions()[0].name, "old/partition");
  EXPECT_EQ(library->functions()[0].kind, FunctionKind::kIdempotent);  // its number has another meaning now
  EXPECT_EQ(library->functions()[1].kind, FunctionKind::kCalledOnce);
  ASSERT_EQ(library->initializers().size(), 1u);
  EXPECT_EQ(library->initializers()[0].name, "old/nothing");
}

TEST(PluginLibraryTest, ReportsLoadError) {
  const storage::TemporaryFolder folder;
  const std::string text = std::string(folder.path()) + "/text.so";
  std::ofstream(text) << "no library";
  const Status missing = LoadError(std::string(folder.path()) + "/none.so");
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), AllOf(HasSubstr("plugin 'degrees'"), HasSubstr("/none.so")));
  EXPECT_THAT(LoadError(text).ToString(), AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("it cannot be loaded: ")));
  EXPECT_THAT(LoadError(folder.path()).message(), HasSubstr("it is not a file"));
  EXPECT_EQ(LoadError("text.so").code(), StatusCode::kInvalidArgument);
}

TEST(PluginLibraryTest, RefusesPluginsOfOtherVersions) {
  EXPECT_THAT(
      LoadError(ESPALIER_NO_PLUGIN).ToString(),
      AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("exports none of espalier_plugin_v3, espalier_plugin_v2 and")));
  EXPECT_THAT(
      LoadError(ESPALIER_PLUGIN_OF_VERSION_99).ToString(),
      AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("built for version 99"), HasSubstr("has versions 1 to 3")));
  EXPECT_THAT(LoadError(ESPALIER_PLUGIN_WITH_A_NAME_TWICE).ToString(), HasSubstr("two functions 'same'"));
  EXPECT_THAT(LoadError(ESPALIER_PLUGIN_OF_A_STRANGE_KIND).ToString(),
              HasSubstr("its function 'strange' is of kind 3, expected 0, 1 or 2"));
  EXPECT_THAT(LoadError(ESPALIER_PLUGIN_WITHOUT_CODE).ToString(), HasSubstr("its initializer 'nothing' is null"));
}

TEST(PluginFunctionsTest, AreFoundByPluginAndFunctionName) {
  const auto functions = PluginFunctions::Load({{"a", ESPALIER_TEST_PLUGIN}, {"b", ESPALIER_TEST_PLUGIN}});
  ASSERT_TRUE(functions.ok()) << functions.status().ToString();
  EXPECT_TRUE((*functions)->Find("a/echo").ok());
  EXPECT_TRUE((*functions)->Find("b/echo").ok());
  const Status unknown = (*functions)->Find("a/ecko").status();
  EXPECT_EQ(unknown.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(unknown.message(), AllOf(HasSubstr("'a/ecko'"), HasSubstr("'a/echo'"), HasSubstr("'b/echo'")));
  EXPECT_TRUE((*functions)->FindInitializer("b/fields").ok());
  const Status no_function = (*functions)->FindInitializer("a/echo").status();
  EXPECT_EQ(no_function.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(no_function.message(), AllOf(HasSubstr("no initializer 'a/echo'"), HasSubstr("'a/fields'")));
  EXPECT_THAT(PluginFunctions().Find("a/echo").status().message(), HasSubstr("no plugins (spec.servers.plugins)"));
  EXPECT_EQ(PluginFunctions::Load({{"a", ESPALIER_TEST_PLUGIN}, {"a", ESPALIER_TEST_PLUGIN}}).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::server
