// Parsing of spec.partitioner, and what it requires of the graph.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/job/testing/example_job.h"
#include "services/job/testing/parse_example.h"

namespace espalier::job {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ParsePartitionerTest, SeveralPartitionersSupportLocalOperationsOnly) {
  const Overrides good = {{"partitioner.replicas", "3"},
                          {"graph.source.format", "NPY"},
                          {"graph.partitions.algorithm", "Streaming"},
                          {"graph.preprocess", "{addReverseEdges: true, dropDuplicateEdges: true}"}};
  const auto with = [&](const std::string& path, const std::string& value) {
    Overrides overrides = good;
    overrides.emplace_back(path, value);
    return ErrorOf(kExampleJob, overrides);
  };
  const Result<ParsedJob> parsed = ParseJob("job.yaml", kExampleJob, good);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->training.partitioner_replicas, 3u);
  EXPECT_EQ(ParseJob("job.yaml", kExampleJob, {})->training.partitioner_replicas, 1u);

  for (const char* algorithm : {"METIS", "Multilevel"}) {
    EXPECT_THAT(with("graph.partitions.algorithm", algorithm),
                HasSubstr("spec.graph.partitions.algorithm: METIS and Multilevel need the whole graph in one process: "
                          "choose Streaming, Random or External, or set spec.partitioner.replicas to 1"));
  }
  for (const char* format : {"OGB", "Triples", "DGLChunked"}) EXPECT_EQ(with("graph.source.format", format), "");
  EXPECT_EQ(with("graph.preprocess.normalizeFeatures", "Row"), "");
  EXPECT_THAT(with("graph.partitions.balance", "[Edges]"), HasSubstr("spec.graph.partitions.balance: several"));
  EXPECT_EQ(ErrorOf(kExampleJob,
                    {good[0], good[1], good[2], {"graph.preprocess", "{}"}, {"graph.partitions.balance", "[Edges]"}}),
            "");
  for (const char* count : {"0", "1025", "-1", "two"}) {
    EXPECT_THAT(with("partitioner.replicas", count), HasSubstr("an integer from 1 to 1024")) << count;
  }
}

TEST(ParsePartitionerTest, ReadsTheMemory) {
  const Overrides good = {{"partitioner.memory", "8Gi"},
                          {"graph.partitions.algorithm", "Streaming"},
                          {"graph.preprocess.normalizeFeatures", "None"}};
  const Result<ParsedJob> job = ParseJob("job.yaml", kExampleJob, good);
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_EQ(job->training.partitioner_memory_bytes, uint64_t{8} << 30);
  // The effective document is read again by the partitioner.
  EXPECT_EQ(ParseJob("job.json", job->effective_json, {})->training.partitioner_memory_bytes, uint64_t{8} << 30);
  EXPECT_EQ(ParseJob("job.yaml", kExampleJob, {})->training.partitioner_memory_bytes, 0u);
  const auto with = [&](const std::string& path, const std::string& value) {
    Overrides overrides = good;
    overrides.emplace_back(path, value);
    return ErrorOf(kExampleJob, overrides);
  };
  EXPECT_THAT(with("partitioner.memory", "much"),
              HasSubstr("spec.partitioner.memory: expected a size in bytes (512Mi, 2Gi), found 'much'"));
  EXPECT_THAT(with("partitioner.replicas", "2"),
              HasSubstr("spec.partitioner.memory: a memory limit is only for one partitioner: omit it, or set "
                        "spec.partitioner.replicas to 1"));
  EXPECT_THAT(
      with("graph.partitions.algorithm", "METIS"),
      HasSubstr("spec.partitioner.memory: METIS and Multilevel hold the whole graph in memory: set no limit, or choose "
                "Streaming, Random or External"));
  for (const auto& [field, value] : {std::pair("dropSelfLoops", "true"), std::pair("addReverseEdges", "true"),
                                     std::pair("dropDuplicateEdges", "true"), std::pair("normalizeFeatures", "Row"),
                                     std::pair("featureDtype", "F16")}) {
    EXPECT_THAT(with("graph.preprocess." + std::string(field), value),
                HasSubstr("spec.partitioner.memory: spec.graph.preprocess and LinkPrediction need the whole graph in "
                          "memory: omit the memory limit"))
        << field;
  }
  // Random refuses the example's balance alone.
  EXPECT_THAT(with("graph.partitions.algorithm", "Random"),
              AllOf(HasSubstr("spec.graph.partitions.balance: "), Not(HasSubstr("spec.partitioner.memory"))));
}

}  // namespace
}  // namespace espalier::job
