#include "services/runner/run/publish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "services/base/hash.h"
#include "services/format/results/outputs_manifest.h"
#include "services/runner/run/testing/read_text.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/put_text.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::run {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Writes two files of incarnation 3 and the manifest, as rank 0 does.
void CommitTwoFiles(storage::ObjectStore& store, const std::string& prefix) {
  format::OutputsManifest manifest;
  manifest.incarnation = 3;
  manifest.result_json = "{\"testAccuracy\": 0.5}";
  for (const std::string name : {"metrics.jsonl", "model/best.safetensors"}) {
    const std::string key = format::ResultsFolder(3) + "/" + name;
    ASSERT_TRUE(storage::PutText(store, prefix.empty() ? key : prefix + "/" + key, name).ok());
    manifest.files.push_back({{key, name.size(), {Hash64(name)}}, "model", std::nullopt, {}});
  }
  ASSERT_TRUE(format::CommitOutputs(store, prefix, manifest).ok());
}

class PublishTest : public testing::Test {
 protected:
  PublishTest() : folder_(*RunFolder::Open(root_.path() + "/run")), output_(*storage::OpenStore(folder_.path())) {}

  // Expects that all files of the manifest are in the folder itself.
  void ExpectPublished() {
    const auto manifest = format::ReadOutputsManifest(*output_.store, output_.prefix);
    ASSERT_TRUE(manifest.ok()) << manifest.status().ToString();
    ASSERT_EQ(manifest->files.size(), 2u);
    EXPECT_EQ(manifest->files[1].file.key, "model/best.safetensors");
    EXPECT_TRUE(format::VerifyOutputs(*output_.store, output_.prefix, *manifest)->ok());
    EXPECT_EQ(ReadText(folder_.path() + "/model/best.safetensors"), "model/best.safetensors");
    EXPECT_FALSE(fs::exists(folder_.path() + "/results"));
  }

  storage::TemporaryFolder root_;
  RunFolder folder_;
  storage::StoreLocation output_;
};

TEST_F(PublishTest, MovesTheFilesToTheFolderItself) {
  CommitTwoFiles(*output_.store, output_.prefix);
  ASSERT_TRUE(storage::PutText(*output_.store, "results/000002/model/best.safetensors", "older").ok());
  const Status published = PublishOutputs(folder_, output_);
  ASSERT_TRUE(published.ok()) << published.ToString();
  ExpectPublished();
}

TEST_F(PublishTest, CompletesInterruptedPublish) {
  CommitTwoFiles(*output_.store, output_.prefix);
  fs::create_directories(folder_.path() + "/model");
  fs::rename(folder_.path() + "/results/000003/model/best.safetensors", folder_.path() + "/model/best.safetensors");
  ASSERT_TRUE(PublishOutputs(folder_, output_).ok());
  ExpectPublished();
  ASSERT_TRUE(PublishOutputs(folder_, output_).ok());
  ExpectPublished();
}

TEST_F(PublishTest, KeepsOutputsInBucketAndCopiesResult) {
  const storage::StoreLocation bucket{std::make_shared<storage::MemoryStore>(), "jobs/cora"};
  CommitTwoFiles(*bucket.store, bucket.prefix);
  ASSERT_TRUE(PublishOutputs(folder_, bucket).ok());
  EXPECT_THAT(ReadText(folder_.ResultFile()), HasSubstr("\"testAccuracy\": 0.5"));
  EXPECT_FALSE(fs::exists(folder_.path() + "/model"));
  EXPECT_TRUE(bucket.store->Head("jobs/cora/results/000003/metrics.jsonl").ok());
}

TEST_F(PublishTest, ReportsMissingOutputs) {
  const Status status = PublishOutputs(folder_, output_);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("without committing outputs"));
}

}  // namespace
}  // namespace espalier::run
