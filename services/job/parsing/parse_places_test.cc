// Parsing of locations: URIs of graphs and outputs, and the endpoint of an S3 service.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/job/testing/parse_example.h"

namespace espalier::job {
namespace {

using testing::HasSubstr;

TEST(ParsePlacesTest, NormalizesUris) {
  const Result<ParsedJob> job =
      ParseJob("job.yaml", ExampleWith("uri: /srv/graphs/cora", "uri: \"s3a://graphs/Cora\""),
               {{"output.uri", "S3://results/x"}, {"graph.partitions.uri", "S3A://results/p"}});
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_EQ(job->training.graph.source.uri, "s3://graphs/Cora");
  EXPECT_EQ(job->training.output_uri, "s3://results/x");
  EXPECT_EQ(job->training.graph.partitions.uri, "s3://results/p");
  EXPECT_THAT(job->effective_json, testing::Not(HasSubstr("s3a:")));
}

TEST(ParsePlacesTest, RefusesInvalidUris) {
  EXPECT_THAT(ErrorOf(ExampleWith("uri: /srv/graphs/cora", "uri: \"s3://-graphs/cora\"")),
              HasSubstr("job.yaml:7:19: spec.graph.source.uri: expected s3://bucket/prefix with a bucket of 3 to 255"));
  EXPECT_THAT(ErrorOf(ExampleWith("uri: /srv/results/cora", "uri: gs://results")),
              HasSubstr("spec.output.uri: there is no driver for gs://"));
  EXPECT_THAT(
      ErrorOf(ExampleWith("  graph:\n", "  storage: {s3: {endpoint: s3.example.com}}\n  graph:\n")),
      HasSubstr(
          "job.yaml:6:28: spec.storage.s3.endpoint: expected http://host[:port][/path] or https://host[:port][/path]"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"checkpoint.keep", "0"}}), HasSubstr("an integer from 1 to 1000"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"checkpoint.every.seconds", "-1"}}), HasSubstr("an integer from 0 to 1000000000"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"checkpoint.resumeFrom", "s3://"}}), HasSubstr("with a bucket"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"storage.s3.credentials", "{}"}}), HasSubstr("secretName: is missing"));
  EXPECT_THAT(ErrorOf(kExampleJob, {{"storage.s3.credentials.secretName", "A_b"}}), HasSubstr("lower-case letters"));
}

}  // namespace
}  // namespace espalier::job
