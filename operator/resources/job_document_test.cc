// Tests that the programs of a job read the same values as the operator.
#include <gtest/gtest.h>

#include "operator/resources/builders.h"
#include "operator/resources/testing/jobs.h"
#include "operator/schema/testing/documents.h"
#include "services/job/parsing/parse.h"

namespace espalier::ctl::resources {
namespace {

using testing::FullJob;
using testing::Job;
using testing::JobOf;
using testing::JobWith;
using testing::SmallJob;

std::string TextOf(const kube::Json& config_map) { return config_map["data"]["job.json"]; }

// Parses the document like espalier-trainer and espalier-sampler.
Result<job::ParsedJob> AsTrainersRead(const Job& job) {
  return job::ParseJob("job.json", TextOf(TrainerConfigMap(job.context())), {});
}

TEST(JobDocumentTest, ParsesToSameValueAsDocument) {
  for (const Job& job : {SmallJob(), FullJob(), JobWith({{"tls", {{"mode", "SecretRef"}, {"secretName", "given"}}}})}) {
    const Result<job::ParsedJob> parsed = AsTrainersRead(job);
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    const job::DistTraining& meant = job.training.spec->job;
    EXPECT_EQ(parsed->training.name, "cora");
    EXPECT_EQ(parsed->training.trainer_replicas, meant.trainer_replicas);
    EXPECT_EQ(parsed->training.trainer_threads, meant.trainer_threads);
    EXPECT_EQ(parsed->training.feature_cache.has_value(), meant.feature_cache.has_value());
    EXPECT_EQ(parsed->training.tls, meant.tls);
    EXPECT_EQ(parsed->training.graph.partitions.count, meant.graph.partitions.count);
    EXPECT_EQ(parsed->training.training.batch_size, meant.training.batch_size);
    EXPECT_EQ(parsed->training.checkpoint.every, meant.checkpoint.every);
    EXPECT_EQ(parsed->training.output_uri, meant.output_uri);
  }
}

TEST(JobDocumentTest, HasTheCacheOfTheTrainers) {
  const Result<job::ParsedJob> parsed =
      AsTrainersRead(JobWith({{"trainers", {{"featureCache", {{"memory", "3Mi"}, {"steps", 5}}}}}}));
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  ASSERT_TRUE(parsed->training.feature_cache.has_value());
  EXPECT_EQ(parsed->training.feature_cache->memory_bytes, uint64_t{3} << 20);
  EXPECT_EQ(parsed->training.feature_cache->steps, 5u);
}

TEST(JobDocumentTest, HasTheDeviceOfTheTrainers) {
  const Result<job::ParsedJob> parsed = AsTrainersRead(JobWith({{"trainers", {{"device", "CUDA"}}}}));
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->training.trainer_device, job::Device::kCuda);
}

TEST(JobDocumentTest, HasTheMemoryOfThePartitioner) {
  const Job job =
      JobWith({{"partitioner", {{"memory", "64Mi"}}}, {"graph", {{"partitions", {{"algorithm", "Random"}}}}}});
  const Result<job::ParsedJob> parsed = job::ParseJob("job.json", TextOf(ConfigMap(job.context())), {},
                                                      job::ReadBy::kRunOrRole, job::SpecTraining::kOptional);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->training.partitioner_memory_bytes, uint64_t{64} << 20);
}

TEST(JobDocumentTest, OmitsFieldsOfPods) {
  const std::string text = TextOf(ConfigMap(FullJob().context()));
  for (const char* const word : {"image", "resources", "template", "env", "replicas", "runPolicy"}) {
    EXPECT_EQ(text.find("\"" + std::string(word) + "\""), std::string::npos) << word;
  }
}

// Each program validates its whole document, so the document must contain all parts that other parts refer to.
TEST(JobDocumentTest, EveryValidDocumentIsAcceptedByPrograms) {
  for (const char* const folder : {"crds/examples", "crds/tests/valid"}) {
    for (const schema::TestDocument& document : schema::DocumentsIn(folder)) {
      const Job job = JobOf(document.object);
      const std::string shared = TextOf(ConfigMap(job.context()));
      const Result<job::ParsedJob> by_partitioner =
          job::ParseJob("job.json", shared, {}, job::ReadBy::kRunOrRole, job::SpecTraining::kOptional);
      EXPECT_TRUE(by_partitioner.ok()) << document.name << ": " << by_partitioner.status().ToString();
      if (job.training.spec->job.sampler_replicas > 0) {
        const Result<job::ParsedJob> by_sampler = job::ParseJob("job.json", shared, {});
        EXPECT_TRUE(by_sampler.ok()) << document.name << ": " << by_sampler.status().ToString();
      }
      if (job.training.spec->job.program) continue;  // programs of users may read any part
      const Result<job::ParsedJob> by_trainer = AsTrainersRead(job);
      EXPECT_TRUE(by_trainer.ok()) << document.name << ": " << by_trainer.status().ToString();
    }
  }
}

}  // namespace
}  // namespace espalier::ctl::resources
