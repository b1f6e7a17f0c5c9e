#include "services/runner/run/job_prefix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/format/results/outputs_manifest.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/put_text.h"

namespace espalier::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JobPrefixTest : public testing::Test {
 protected:
  void Put(const std::string& key, const std::string& text = "x") {
    ASSERT_TRUE(storage::PutText(*store_, key, text).ok());
  }
  void Commit(uint64_t incarnation, const std::string& result = "{}") {
    format::OutputsManifest manifest;
    manifest.incarnation = incarnation;
    manifest.result_json = result;
    ASSERT_TRUE(format::CommitOutputs(*store_, "jobs/a", manifest).ok());
  }
  std::vector<std::string> Keys() {
    std::vector<std::string> keys;
    const auto objects = store_->List("");
    for (const storage::ObjectInfo& object : *objects) keys.push_back(object.key);
    return keys;
  }

  const std::shared_ptr<storage::MemoryStore> store_ = std::make_shared<storage::MemoryStore>();
  const storage::StoreLocation prefix_{store_, "jobs/a"};
};

TEST_F(JobPrefixTest, FindsTheNewestIncarnationOfAll) {
  Put("jobs/a/results/000004/metrics.jsonl");
  Commit(3);
  const Result<EarlierRun> earlier = FindEarlierRun(prefix_);
  ASSERT_TRUE(earlier.ok()) << earlier.status().ToString();
  EXPECT_EQ(earlier->newest_incarnation, 4u);
  EXPECT_TRUE(earlier->outputs_committed);
}

TEST_F(JobPrefixTest, ReturnsJobNameOfOutputs) {
  EXPECT_EQ(FindEarlierRun(prefix_)->job_name, "");
  Commit(1);
  EXPECT_EQ(FindEarlierRun(prefix_)->job_name, "");
  Commit(2, R"({"name": 7})");
  EXPECT_EQ(FindEarlierRun(prefix_)->job_name, "");
  Commit(3, R"({"name": "cora"})");
  EXPECT_EQ(FindEarlierRun(prefix_)->job_name, "cora");
}

TEST_F(JobPrefixTest, DeletesOnlyFilesOfRuns) {
  for (const char* key : {"results/000001/model/best.safetensors", "results/table.csv", "results/2024/x", "notes"}) {
    Put(std::string("jobs/a/") + key);
  }
  Commit(1);
  Put("jobs/a/result.json");
  const Result<EarlierRun> earlier = FindEarlierRun(prefix_);
  ASSERT_TRUE(earlier.ok());
  ASSERT_TRUE(DeleteEarlierRun(prefix_, *earlier).ok());
  EXPECT_THAT(Keys(), ElementsAre("jobs/a/notes", "jobs/a/results/2024/x", "jobs/a/results/table.csv"));
}

TEST_F(JobPrefixTest, KeepsResultWithoutRun) {
  Put("jobs/a/result.json");
  const Result<EarlierRun> earlier = FindEarlierRun(prefix_);
  ASSERT_TRUE(earlier.ok());
  EXPECT_FALSE(earlier->outputs_committed);
  ASSERT_TRUE(DeleteEarlierRun(prefix_, *earlier).ok());
  EXPECT_THAT(Keys(), ElementsAre("jobs/a/result.json"));
}

TEST_F(JobPrefixTest, RefusesForeignManifest) {
  Put("jobs/a/manifest.json", "{\"name\": \"my web app\"}");
  const Status status = FindEarlierRun(prefix_).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("manifest.json"));
}

}  // namespace
}  // namespace espalier::run
