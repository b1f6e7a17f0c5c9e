// Runs the pipeline with source, assignment and output in a memory store, as in a bucket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "services/format/partition/partition_files.h"
#include "services/format/source/npy_file.h"
#include "services/format/source/npy_folder.h"
#include "services/partition/testing/small_graphs.h"
#include "services/partitioner/partition_pipeline.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/faulty_store.h"
#include "services/storage/testing/put_text.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::partitioner {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

// A store that puts the manifest but reports an error, and fails the next lookup of it.
class LostAnswerStore final : public storage::ObjectStore {
 public:
  explicit LostAnswerStore(std::shared_ptr<storage::ObjectStore> inner) : inner_(std::move(inner)) {}

  std::string Describe() const override { return inner_->Describe(); }
  Result<storage::ObjectInfo> Head(const std::string& key) override {
    if (std::exchange(is_deaf_, false)) return Unavailable("no answer");
    return inner_->Head(key);
  }
  Result<std::string> Get(const std::string& key) override { return inner_->Get(key); }
  Result<std::string> GetRange(const std::string& key, storage::ByteRange range) override {
    return inner_->GetRange(key, range);
  }
  Result<std::unique_ptr<storage::ObjectWriter>> Put(const std::string& key) override { return inner_->Put(key); }
  Status PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) override {
    const Status put = inner_->PutIfAbsent(key, bytes);
    is_deaf_ = true;
    return put.ok() ? Unavailable("the answer was lost") : put;
  }
  Result<std::vector<storage::ObjectInfo>> List(const std::string& prefix) override { return inner_->List(prefix); }
  Status Delete(const std::string& key) override { return inner_->Delete(key); }
  std::optional<std::string> LocalPath(const std::string&) override { return std::nullopt; }

 private:
  const std::shared_ptr<storage::ObjectStore> inner_;
  bool is_deaf_ = false;
};

class PartitionStoresTest : public ::testing::Test {
 protected:
  PartitionStoresTest() {
    options_.access.cache.folder = folder_.path() + "/cache";
    options_.access.open_store = [this](const std::string& uri) -> Result<storage::StoreLocation> {
      return storage::StoreLocation{store_, uri.substr(std::string("mem://").size())};
    };
    const std::string local = folder_.path() + "/graph";
    const Status written = format::WriteNpyFolder(partition::testing::TypedGraph(60, /*seed=*/5), local);
    EXPECT_TRUE(written.ok()) << written.ToString();
    for (const auto& file : fs::recursive_directory_iterator(local)) {
      if (!file.is_regular_file()) continue;
      std::ifstream bytes(file.path(), std::ios::binary);
      EXPECT_TRUE(storage::PutText(*store_, "graphs/typed/" + fs::relative(file.path(), local).string(),
                                   {std::istreambuf_iterator<char>(bytes), {}})
                      .ok());
    }
    graph_.source = {.uri = "mem://graphs/typed", .format = job::GraphFormat::kNpy};
    graph_.partitions.algorithm = job::PartitionAlgorithm::kStreaming;
    graph_.partitions.count = 2;
  }

  Result<PartitionOutcome> Run() {
    phases_.clear();
    return PartitionGraph(
        graph_, /*seed=*/1, "mem://parts", [this](std::string_view phase, double) { phases_.emplace(phase); },
        options_);
  }
  std::vector<std::string> Keys(const std::string& prefix) {
    std::vector<std::string> keys;
    const auto objects = store_->List(prefix);
    EXPECT_TRUE(objects.ok()) << objects.status().ToString();
    for (const storage::ObjectInfo& object : *objects) keys.push_back(object.key);
    return keys;
  }

  const storage::TemporaryFolder folder_;
  std::shared_ptr<storage::ObjectStore> store_ = std::make_shared<storage::MemoryStore>();
  job::Graph graph_;
  PartitionPipelineOptions options_;
  std::set<std::string> phases_;
};

TEST_F(PartitionStoresTest, WritesSameBytesAsFromLocalFiles) {
  const auto remote = Run();
  ASSERT_TRUE(remote.ok()) << remote.status().ToString();
  EXPECT_EQ(remote->uri, "mem://parts/" + remote->partition_key);

  graph_.source.uri = folder_.path() + "/graph";
  const auto local = PartitionGraph(graph_, 1, folder_.path() + "/parts", nullptr, {});
  ASSERT_TRUE(local.ok()) << local.status().ToString();
  EXPECT_EQ(remote->partition_key, local->partition_key);
  for (size_t p = 0; p < 2; ++p) {
    EXPECT_EQ(remote->manifest.partitions[p].graph.block_hashes, local->manifest.partitions[p].graph.block_hashes);
    EXPECT_EQ(remote->manifest.partitions[p].node_columns.block_hashes,
              local->manifest.partitions[p].node_columns.block_hashes);
  }
  format::LoadOptions load;
  load.data_dir = options_.access.cache.folder;
  EXPECT_TRUE(
      format::LoadPartition(*store_, "parts/" + remote->partition_key, remote->manifest, PartitionId(0), load).ok());
}

TEST_F(PartitionStoresTest, ReusesPartitioningWithoutSource) {
  ASSERT_TRUE(Run().ok());
  fs::remove_all(options_.access.cache.folder + "/sources");
  const auto again = Run();
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(again->reused);
  EXPECT_THAT(phases_, ElementsAre("digesting"));
  EXPECT_FALSE(fs::exists(options_.access.cache.folder + "/sources"));  // the source was not copied again
}

TEST_F(PartitionStoresTest, ReadsAnAssignmentFromTheStore) {
  const graph::SourceGraph source = partition::testing::TypedGraph(60, /*seed=*/5);
  const storage::TemporaryFolder assignment;
  for (size_t type = 0; type < source.nodes.size(); ++type) {
    std::vector<int32_t> owners(source.nodes[type].count);
    for (size_t i = 0; i < owners.size(); ++i) owners[i] = static_cast<int32_t>(i % 2);
    const std::string name = source.schema.node_types()[type] + ".npy";
    ASSERT_TRUE(format::WriteNpy(assignment.path() + "/" + name, Tensor::FromVector(std::move(owners))).ok());
    std::ifstream bytes(assignment.path() + "/" + name, std::ios::binary);
    ASSERT_TRUE(storage::PutText(*store_, "assignment/" + name, {std::istreambuf_iterator<char>(bytes), {}}).ok());
  }
  graph_.partitions.algorithm = job::PartitionAlgorithm::kExternal;
  graph_.partitions.assignment_uri = "mem://assignment/";
  const auto outcome = Run();
  ASSERT_TRUE(outcome.ok()) << outcome.status().ToString();
  EXPECT_EQ(outcome->manifest.algorithm, "External");
}

// Whichever write of the output fails, no file and no manifest are left. Tests every fifth write.
TEST_F(PartitionStoresTest, FullStoreLeavesNoFiles) {
  const std::shared_ptr<storage::ObjectStore> inner = store_;
  const auto counting = std::make_shared<storage::FaultyStore>(*inner);
  store_ = counting;
  const auto whole = Run();
  ASSERT_TRUE(whole.ok()) << whole.status().ToString();
  const int64_t num_writes = counting->num_writes();
  for (int64_t n = num_writes - 1; n >= 0; n -= 5) {  // the last write is the manifest
    for (const std::string& key : Keys("parts/")) ASSERT_TRUE(inner->Delete(key).ok());
    store_ = std::make_shared<storage::FaultyStore>(*inner, n);
    EXPECT_EQ(Run().status().code(), StatusCode::kResourceExhausted) << n;
    EXPECT_TRUE(Keys("parts/").empty()) << n;
  }
}

TEST_F(PartitionStoresTest, KeepsFilesIfManifestMayExist) {
  const std::shared_ptr<storage::ObjectStore> inner = store_;
  store_ = std::make_shared<LostAnswerStore>(inner);
  EXPECT_EQ(Run().status().code(), StatusCode::kUnavailable);
  store_ = inner;
  const auto again = Run();
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_TRUE(again->reused);
}

TEST_F(PartitionStoresTest, StopsWhileItStages) {
  options_.access.stop_requested = [] { return true; };
  EXPECT_EQ(Run().status().code(), StatusCode::kCancelled);
  EXPECT_TRUE(Keys("parts/").empty());
}

}  // namespace
}  // namespace espalier::partitioner
