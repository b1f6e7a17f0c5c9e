#include "services/job/places.h"

#include <gtest/gtest.h>

namespace espalier::job {
namespace {

DistTraining WithOutput(const std::string& uri) {
  DistTraining job;
  job.output_uri = uri;
  return job;
}

TEST(PlacesTest, JoinsWithOneSlash) {
  EXPECT_EQ(UriBelow("s3://b/x", "y"), "s3://b/x/y");
  EXPECT_EQ(UriBelow("s3://b/x//", "y"), "s3://b/x/y");
  EXPECT_EQ(UriBelow("s3://b/", "y"), "s3://b/y");
  EXPECT_EQ(UriBelow("/", "y"), "/y");
}

// Stores reject keys with an empty part, and all components must compute the same folder.
TEST(PlacesTest, PartitionsAreBelowOutputWithOrWithoutSlash) {
  EXPECT_EQ(PartitionsUri(WithOutput("s3://b/x")), "s3://b/x/partitions");
  EXPECT_EQ(PartitionsUri(WithOutput("s3://b/x/")), "s3://b/x/partitions");
  EXPECT_EQ(PartitionsUri(WithOutput("file:///srv/run/")), "file:///srv/run/partitions");
}

TEST(PlacesTest, PartitionsUriComesFromDocument) {
  DistTraining job = WithOutput("s3://b/x");
  job.graph.partitions.uri = "s3://b/shared";
  EXPECT_EQ(PartitionsUri(job), "s3://b/shared");
}

TEST(PlacesTest, PartitionsUriIsEmptyWithoutOutput) { EXPECT_EQ(PartitionsUri(DistTraining()), ""); }

}  // namespace
}  // namespace espalier::job
