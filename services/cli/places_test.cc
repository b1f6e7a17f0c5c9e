// Tests invalid paths and URIs on the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "services/cli/testing/cli_fixture.h"

namespace espalier::cli {
namespace {

using testing::HasSubstr;

using PlacesTest = CliTest;

TEST_F(PlacesTest, LocalFolderIsNoBucket) {
  MakeGraph();
  for (const char* words :
       {"generate --output s3://bucket/x", "import graph --format NPY --output s3://bucket/x",
        "partition graph --format NPY --output parts --export-mappings s3://bucket/x",
        "partition graph --format NPY --output parts --data-dir s3://bucket/x",
        "run --file job.yaml --output s3a://b/x", "launch --hosts hosts --file job.yaml --output S3://b/x"}) {
    const Ended refused = Espalier(words);
    EXPECT_EQ(refused.code, 64) << words;
    EXPECT_THAT(refused.error, HasSubstr("is in object storage: expected a local path or a file: URI here")) << words;
  }
  EXPECT_THAT(Espalier("run --file job.yaml --output gs://b/x").error, HasSubstr("there is no driver for gs://"));
  for (const char* folder : {"s3:", "s3a:", "S3:", "gs:", "parts"}) {
    EXPECT_FALSE(std::filesystem::exists(root_ / folder)) << folder;
  }
}

TEST_F(PlacesTest, FileUriIsLocalFolder) {
  MakeGraph();
  const Ended imported = Espalier("import graph --format NPY --output file://" + root_.string() + "/copy");
  EXPECT_EQ(imported.code, 0) << imported.error;
  EXPECT_TRUE(std::filesystem::exists(root_ / "copy/graph.yaml"));
}

// The exit code says that the URI is wrong, not the data.
TEST_F(PlacesTest, UnknownSchemeIsUsageError) {
  MakeGraph();
  ASSERT_EQ(Espalier("partition graph --format NPY -q --output parts").code, 0);
  const std::pair<const char*, const char*> places[] = {{"gs://bucket/g", "there is no driver for gs://"},
                                                        {"s3://b/g", "'b' is not a valid bucket name"}};
  for (const auto& [uri, problem] : places) {
    for (const std::string words :
         {"import @ --format NPY --output copy", "partition @ --format NPY --output cut",
          "partition graph --format NPY --output @", "inspect @", "verify @", "verify parts --source @ --format NPY",
          "checkpoint ls @", "checkpoint inspect @", "checkpoint verify @"}) {
      const Ended refused = Espalier(std::string(words).replace(words.find('@'), 1, uri));
      EXPECT_EQ(refused.code, 64) << words << "\n" << refused.error;
      EXPECT_THAT(refused.error, HasSubstr(problem)) << words;
    }
  }
  for (const char* words : {"import nowhere --format NPY --output copy", "inspect nowhere", "checkpoint ls nowhere"}) {
    EXPECT_EQ(Espalier(words).code, 65) << words;
  }
}

}  // namespace
}  // namespace espalier::cli
