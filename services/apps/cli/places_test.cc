// Paths and URIs on the command line that name no place that can be used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "services/apps/cli/testing/cli_fixture.h"

namespace espalier::cli {
namespace {

using testing::HasSubstr;

using PlacesTest = CliTest;

TEST_F(PlacesTest, AFolderOfThisMachineIsNoBucket) {
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

TEST_F(PlacesTest, AFileUriIsAFolderOfThisMachine) {
  MakeGraph();
  const Ended imported = Espalier("import graph --format NPY --output file://" + root_.string() + "/copy");
  EXPECT_EQ(imported.code, 0) << imported.error;
  EXPECT_TRUE(std::filesystem::exists(root_ / "copy/graph.yaml"));
}

}  // namespace
}  // namespace espalier::cli
