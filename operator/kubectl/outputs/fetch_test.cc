#include "operator/kubectl/outputs/fetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "operator/kubectl/outputs/selection.h"
#include "services/base/hash.h"
#include "services/format/files/checksum.h"
#include "services/format/results/outputs_manifest.h"
#include "services/storage/file_store.h"
#include "services/storage/memory_store.h"
#include "services/storage/object_key.h"
#include "services/storage/testing/hooked_store.h"
#include "services/storage/testing/put_text.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::ctl::outputs {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr char kPrefix[] = "cora-11111111";
constexpr uint64_t kBlock = format::kChecksumBlockBytes;

// A store whose connection breaks after a given number of block reads.
class BreakingReads {
 public:
  explicit BreakingReads(storage::ObjectStore& inner)
      : store(inner, [this](const std::string&, storage::ByteRange, std::span<std::byte>) {
          return left_.fetch_sub(1) > 0 ? Status() : Unavailable("the connection broke");
        }) {}
  void BreakAfter(int blocks) { left_ = blocks; }

  storage::HookedStore store;

 private:
  std::atomic<int> left_{0};  // atomic, because blocks are read by several threads
};

// A run with committed outputs. Add writes files as trainers do.
class CommittedRun {
 public:
  explicit CommittedRun(uint64_t incarnation = 2) {
    manifest_.incarnation = incarnation;
    manifest_.not_written["model/best.pt"] = "no TorchScript for RGCN";
    manifest_.result_json = "{\n  \"testAccuracy\": 0.81\n}\n";
  }
  CommittedRun& Add(const std::string& name, const std::string& kind, const std::string& bytes) {
    const std::string key = format::ResultsFolder(manifest_.incarnation) + "/" + name;
    format::HashingWriter writer(*store.Put(std::string(kPrefix) + "/" + key));
    EXPECT_TRUE(writer.Write(storage::BytesOf(bytes)).ok());
    EXPECT_TRUE(writer.Commit().ok());
    manifest_.files.push_back({.file = writer.Entry(key), .kind = kind});
    return *this;
  }
  CommittedRun& Commit() {
    EXPECT_TRUE(format::CommitOutputs(store, kPrefix, manifest_).ok());
    return *this;
  }

  storage::MemoryStore store;

 private:
  format::OutputsManifest manifest_;
};

std::unique_ptr<CommittedRun> SmallRun() {
  auto run = std::make_unique<CommittedRun>();
  run->Add("embeddings/node/values.npy", "embeddings", "values")
      .Add("logits/node/values.npy", "logits", "logits")
      .Add("metrics.jsonl", "metrics", "{\"epoch\": 1}\n")
      .Add("model/best.safetensors", "model", "weights")
      .Add("predictions/node/values.npy", "predictions", "classes")
      .Commit();
  return run;
}

// Stores a manifest with one small object of the name `key`, which may be invalid.
void PutManifestOf(const std::string& key, storage::ObjectStore* store) {
  const std::string bytes = "hostile";
  if (storage::CheckKey(key).ok()) {
    EXPECT_TRUE(storage::PutText(*store, std::string(kPrefix) + "/" + key, bytes).ok());
  }
  format::OutputsManifest manifest;
  manifest.incarnation = 1;
  manifest.result_json = "{}\n";
  manifest.files = {
      {.file = {.key = key, .size_bytes = bytes.size(), .block_hashes = {Hash64(bytes)}}, .kind = "model"}};
  EXPECT_TRUE(
      storage::PutText(*store, std::string(kPrefix) + "/manifest.json", format::OutputsManifestToJson(manifest)).ok());
}

class FetchTest : public ::testing::Test {
 protected:
  Result<FetchReport> Fetch(storage::ObjectStore& store, std::set<std::string> choices = {"all"}) {
    FetchOptions options;
    options.folder = folder();
    options.choices = std::move(choices);
    return FetchOutputs(store, kPrefix, options);
  }
  std::string folder() const { return temporary_.path() + "/results"; }
  std::string TextOf(const std::string& name) const {
    std::ifstream file(folder() + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Verifies the folder by its own manifest and returns the violations.
  std::vector<std::string> Violations() const {
    storage::FileStore store(folder());
    const Result<format::OutputsManifest> manifest = format::ReadOutputsManifest(store, "");
    if (!manifest.ok()) return {manifest.status().message()};
    return format::VerifyOutputs(store, "", *manifest)->violations;
  }
  std::vector<std::string> FilesThere() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder())) {
      if (entry.is_regular_file()) names.push_back(fs::relative(entry.path(), folder()).string());
    }
    return names;
  }

  storage::TemporaryFolder temporary_;
};

TEST_F(FetchTest, WritesFolderThatVerifies) {
  const auto run = SmallRun();
  const Result<FetchReport> report = Fetch(run->store);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->incarnation, 2u);
  EXPECT_EQ(report->fetched_bytes, report->bytes);
  EXPECT_EQ(report->not_written.at("model/best.pt"), "no TorchScript for RGCN");
  EXPECT_THAT(FilesThere(), UnorderedElementsAre("embeddings/node/values.npy", "logits/node/values.npy",
                                                 "metrics.jsonl", "model/best.safetensors",
                                                 "predictions/node/values.npy", "manifest.json", "result.json"));
  EXPECT_EQ(TextOf("model/best.safetensors"), "weights");
  EXPECT_EQ(TextOf("result.json"), "{\n  \"testAccuracy\": 0.81\n}\n");
  EXPECT_THAT(Violations(), IsEmpty());
}

TEST_F(FetchTest, FetchesSelectionAndAddsLater) {
  const auto run = SmallRun();
  const Result<FetchReport> model = Fetch(run->store, {"model"});
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_THAT(model->files, ElementsAre("model/best.safetensors"));
  EXPECT_THAT(Violations(), IsEmpty());

  const Result<FetchReport> predictions = Fetch(run->store, {"predictions"});
  ASSERT_TRUE(predictions.ok()) << predictions.status().ToString();
  EXPECT_THAT(predictions->files, ElementsAre("logits/node/values.npy", "predictions/node/values.npy"));
  EXPECT_THAT(Violations(), IsEmpty());
  EXPECT_THAT(TextOf("manifest.json"), HasSubstr("model/best.safetensors"));
}

TEST_F(FetchTest, ASecondFetchReadsNothing) {
  const auto run = SmallRun();
  ASSERT_TRUE(Fetch(run->store).ok());
  BreakingReads nothing(run->store);
  const Result<FetchReport> again = Fetch(nothing.store);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->fetched_bytes, 0u);
}

TEST_F(FetchTest, ResumesInterruptedFetch) {
  CommittedRun run;
  std::string large(5 * kBlock / 2, 'x');
  for (size_t i = 0; i < large.size(); i += 4096) large[i] = static_cast<char>(i >> 12);
  run.Add("model/last.safetensors", "model", large).Commit();
  BreakingReads reads(run.store);
  reads.BreakAfter(1);
  EXPECT_EQ(Fetch(reads.store).status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(fs::exists(folder() + "/model/last.safetensors"));
  EXPECT_FALSE(fs::exists(folder() + "/manifest.json"));

  reads.BreakAfter(1000);
  const Result<FetchReport> report = Fetch(reads.store);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_LT(report->fetched_bytes, report->bytes);
  EXPECT_EQ(TextOf("model/last.safetensors"), large);
  EXPECT_THAT(FilesThere(), UnorderedElementsAre("model/last.safetensors", "manifest.json", "result.json"));
}

TEST_F(FetchTest, ObjectThatDiffersFromManifestIsNotPublished) {
  const auto run = SmallRun();
  ASSERT_TRUE(
      storage::PutText(run->store, std::string(kPrefix) + "/results/000002/model/best.safetensors", "Weights").ok());
  const Status status = Fetch(run->store).status();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("model/best.safetensors"));
  EXPECT_FALSE(fs::exists(folder() + "/model/best.safetensors"));
  EXPECT_FALSE(fs::exists(folder() + "/manifest.json"));
}

TEST_F(FetchTest, KeepsOtherFiles) {
  const auto run = SmallRun();
  fs::create_directories(folder() + "/model");
  std::ofstream(folder() + "/model/best.safetensors") << "mine";
  const Status status = Fetch(run->store).status();
  EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(TextOf("model/best.safetensors"), "mine");
}

TEST_F(FetchTest, DoesNotMixTwoRuns) {
  const auto run = SmallRun();
  ASSERT_TRUE(Fetch(run->store).ok());
  CommittedRun other(3);
  other.Add("extra.jsonl", "metrics", "{}").Commit();
  const Status status = Fetch(other.store).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("name another folder"));
  EXPECT_FALSE(fs::exists(folder() + "/extra.jsonl"));
}

// Only an incarnation's folder is removed from a name, not a similar one that is followed by an absolute path.
TEST_F(FetchTest, KeepsInvalidIncarnationInFileName) {
  const std::string outside = temporary_.path() + "/outside/.bash_profile";
  for (const char* number : {"0000001", "00000000000000000001", "00001", "000001x"}) {
    const std::string key = std::string("results/") + number + outside;
    storage::MemoryStore store;
    PutManifestOf(key, &store);
    const Status status = Fetch(store).status();
    EXPECT_TRUE(status.ok()) << key << ": " << status.ToString();
    EXPECT_FALSE(fs::exists(outside)) << key;
    EXPECT_EQ(TextOf(key), "hostile") << key;
    fs::remove_all(folder());
  }
}

TEST_F(FetchTest, RefusesNamesThatLeaveTheFolder) {
  const std::string outside = temporary_.path() + "/outside";
  const std::vector<std::string> keys = {outside,
                                         "../outside",
                                         "results/000001/" + outside,
                                         "results/000001/../outside",
                                         "results/000001/../../../outside",
                                         "results/000001/..\\outside",
                                         "results/000001/.espalier-fetch",
                                         "results/000001/"};
  for (const std::string& key : keys) {
    storage::MemoryStore store;
    PutManifestOf(key, &store);
    EXPECT_EQ(Fetch(store).status().code(), StatusCode::kInvalidArgument) << key;
    EXPECT_FALSE(fs::exists(outside)) << key;
    EXPECT_FALSE(fs::exists(folder())) << key;
  }
}

// Such a file would replace one that the fetch writes itself, or be mistaken for it.
TEST_F(FetchTest, RefusesReservedFileNames) {
  for (const char* key : {"results/000001/manifest.json", "results/000001/result.json", "result.json"}) {
    storage::MemoryStore store;
    PutManifestOf(key, &store);
    EXPECT_EQ(Fetch(store).status().code(), StatusCode::kInvalidArgument) << key;
    EXPECT_THAT(FilesThere(), IsEmpty()) << key;
  }
}

TEST_F(FetchTest, RefusesTooLargeManifest) {
  storage::MemoryStore store;
  const std::string large((64 << 20) + 1, ' ');
  ASSERT_TRUE(storage::PutText(store, std::string(kPrefix) + "/manifest.json", large).ok());
  const Status status = Fetch(store).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("cora-11111111/manifest.json has 67108865 bytes"));
}

TEST_F(FetchTest, KeepsResultOfOtherRun) {
  const auto run = SmallRun();
  fs::create_directories(folder());
  for (const char* theirs : {"mine", "{\n  \"testAccuracy\": 0.99\n}\n"}) {  // the second is as long as ours
    std::ofstream(folder() + "/result.json") << theirs;
    const Status status = Fetch(run->store).status();
    EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
    EXPECT_THAT(status.message(), HasSubstr("result.json exists with other contents"));
    EXPECT_EQ(TextOf("result.json"), theirs);
    EXPECT_THAT(FilesThere(), ElementsAre("result.json"));
  }
}

TEST_F(FetchTest, KeepsResultWrittenMeanwhile) {
  const auto run = SmallRun();
  storage::HookedStore store(run->store, [this](const std::string&, storage::ByteRange, std::span<std::byte>) {
    std::ofstream(folder() + "/result.json") << "mine";
    return Status();
  });
  EXPECT_EQ(Fetch(store, {"model"}).status().code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(TextOf("result.json"), "mine");
  EXPECT_FALSE(fs::exists(folder() + "/manifest.json"));
}

TEST_F(FetchTest, ResumesFetchWithoutManifest) {
  const auto run = SmallRun();
  ASSERT_TRUE(Fetch(run->store).ok());
  fs::remove(folder() + "/manifest.json");
  const Result<FetchReport> report = Fetch(run->store);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->fetched_bytes, 0u);
  EXPECT_THAT(Violations(), IsEmpty());
}

TEST_F(FetchTest, ReplacesTheResultOfTheSameCommit) {
  const auto run = SmallRun();
  ASSERT_TRUE(Fetch(run->store).ok());
  std::ofstream(folder() + "/result.json") << "damaged";
  ASSERT_TRUE(Fetch(run->store).ok());
  EXPECT_EQ(TextOf("result.json"), "{\n  \"testAccuracy\": 0.81\n}\n");
}

TEST_F(FetchTest, ReportsMissingOutputs) {
  storage::MemoryStore empty;
  EXPECT_EQ(Fetch(empty).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(FetchTest, EndsOnStop) {
  const auto run = SmallRun();
  FetchOptions options;
  options.folder = folder();
  options.choices = {"all"};
  options.stop_requested = [] { return true; };
  EXPECT_EQ(FetchOutputs(run->store, kPrefix, options).status().code(), StatusCode::kCancelled);
  EXPECT_THAT(FilesThere(), IsEmpty());
}

TEST_F(FetchTest, EndsOnStopWhileVerifyingExistingFiles) {
  CommittedRun run;
  run.Add("model/last.safetensors", "model", std::string(5 * kBlock / 2, 'x')).Commit();
  ASSERT_TRUE(Fetch(run.store).ok());
  FetchOptions options;
  options.folder = folder();
  options.choices = {"all"};
  std::vector<uint64_t> seen;
  options.progress = [&](const std::string&, uint64_t done, uint64_t) { seen.push_back(done); };
  options.stop_requested = [&] { return !seen.empty(); };
  EXPECT_EQ(FetchOutputs(run.store, kPrefix, options).status().code(), StatusCode::kCancelled);
  EXPECT_THAT(seen, ElementsAre(kBlock));
}

TEST(SelectionTest, ParsesEveryChoiceOnly) {
  const format::OutputsManifest manifest;
  for (const std::string& choice : Choices()) EXPECT_TRUE(SelectFiles(manifest, {choice}).ok()) << choice;
  EXPECT_EQ(SelectFiles(manifest, {"weights"}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::ctl::outputs
