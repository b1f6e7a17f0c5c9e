// Tests the files and the manifest of saved tensors.
#include "services/format/saved_tensors/saved_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <tuple>

#include "services/format/testing/mutation.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/hooked_store.h"

namespace espalier::format {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kSavedFolder = "job/000012";

Tensor RowsOfTwo(const std::vector<float>& values) {
  return Tensor::FromVector(values, {static_cast<int64_t>(values.size() / 2), 2});
}

// Writes a tensor of two files, a tensor without rows, and learnable rows with and without state.
SavedTensorsManifest PutTinyTensors(storage::ObjectStore& store, const std::string& folder) {
  SavedTensorEntry rows{.rows = "edges/author:writes:paper",
                        .name = "scores",
                        .dtype = DType::kF32,
                        .row_shape = {2},
                        .num_rows = 3,
                        .endpoint_hash = 0x0123'4567'89ab'cdef};
  for (const std::vector<float>& values : {std::vector<float>{1, 2, 3, 4}, std::vector<float>{5, 6}}) {
    const std::string key = SaveFolderName(1) + "/" + std::to_string(rows.files.size()) + ".safetensors";
    const auto file = PutSavedRows(store, folder, key, RowsOfTwo(values));
    ESPALIER_CHECK(file.ok()) << file.status().ToString();
    rows.files.push_back(*file);
  }
  const SavedTensorEntry none{.rows = "own", .name = "none", .dtype = DType::kBool};
  SavedEmbeddingEntry with_state{.version = 12, .optimizer = "Adagrad", .values = rows, .state = rows};
  with_state.state->name = "scores.state";
  SavedEmbeddingEntry without{.version = 3, .optimizer = "SGD", .values = none, .state = {}};
  without.values.dtype = DType::kF16;
  without.values.row_shape = {5};
  return {.graph_name = "tiny",
          .notes = {{"epoch", "3"}, {"what", "\u00e9"}},
          .tensors = {rows, none},
          .embeddings = {with_state, without}};
}

TEST(SavedTensorsFormatTest, RoundTrip) {
  storage::MemoryStore store;
  const SavedTensorsManifest manifest = PutTinyTensors(store, kSavedFolder);
  EXPECT_EQ(ReadSavedTensors(store, kSavedFolder).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(CommitSavedTensors(store, kSavedFolder, manifest).ok());
  const auto back = ReadSavedTensors(store, kSavedFolder);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(*back, manifest);
  const SavedTensorEntry& scores = back->tensors[0];
  const auto rows = ReadSavedRows(store, kSavedFolder, scores.files[1], scores);
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_THAT(rows->shape(), ElementsAre(1, 2));
  EXPECT_THAT(rows->values<float>(), ElementsAre(5, 6));
}

TEST(SavedTensorsFormatTest, FilesThatAreNotTheTensorsAreRefused) {
  storage::MemoryStore store;
  const SavedTensorsManifest manifest = PutTinyTensors(store, kSavedFolder);
  const auto error_with = [&](const std::function<void(SavedTensorEntry&)>& change) {
    SavedTensorEntry tensor = manifest.tensors[0];
    change(tensor);
    return ReadSavedRows(store, kSavedFolder, tensor.files[0], tensor).status();
  };
  EXPECT_TRUE(error_with([](SavedTensorEntry&) {}).ok());
  EXPECT_EQ(error_with([](auto& tensor) { tensor.dtype = DType::kI32; }).code(), StatusCode::kDataLoss);
  EXPECT_EQ(error_with([](auto& tensor) { tensor.row_shape = {}; }).code(), StatusCode::kDataLoss);
  EXPECT_EQ(error_with([](auto& tensor) { ++tensor.files[0].block_hashes[0]; }).code(), StatusCode::kDataLoss);
  EXPECT_EQ(error_with([](auto& tensor) { ++tensor.files[0].size_bytes; }).code(), StatusCode::kDataLoss);
  EXPECT_EQ(error_with([](auto& tensor) { tensor.files[0].key += ".none"; }).code(), StatusCode::kDataLoss);
}

TEST(SavedTensorsFormatTest, CommittedSaveIsNotReplaced) {
  storage::MemoryStore store;
  SavedTensorsManifest manifest = PutTinyTensors(store, kSavedFolder);
  EXPECT_TRUE(CheckNothingIsSaved(store, kSavedFolder).ok());
  ASSERT_TRUE(CommitSavedTensors(store, kSavedFolder, manifest).ok());
  EXPECT_EQ(CheckNothingIsSaved(store, kSavedFolder).code(), StatusCode::kAlreadyExists);
  manifest.notes["epoch"] = "4";
  EXPECT_EQ(CommitSavedTensors(store, kSavedFolder, manifest).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(ReadSavedTensors(store, kSavedFolder)->notes.at("epoch"), "3");
  manifest.notes["epoch"] = "\xff";
  EXPECT_EQ(CommitSavedTensors(store, "job/000013", manifest).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(CheckNothingIsSaved(store, "job/000013").ok());
}

TEST(SavedTensorsFormatTest, AManifestThatIsTooLargeToBeReadIsNotWritten) {
  storage::MemoryStore store;
  const SavedTensorsManifest manifest = PutTinyTensors(store, kSavedFolder);
  const uint64_t size_bytes = SavedTensorsToJson(manifest).size();
  const Status refused = CommitSavedTensors(store, kSavedFolder, manifest, size_bytes - 1);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(refused.message(), "the manifest has " + std::to_string(size_bytes) + " bytes: expected at most " +
                                   std::to_string(size_bytes - 1) +
                                   "; save fewer or shorter notes, or fewer and larger files");
  EXPECT_TRUE(CheckNothingIsSaved(store, kSavedFolder).ok());
  EXPECT_TRUE(CommitSavedTensors(store, kSavedFolder, manifest, size_bytes).ok());
}

TEST(SavedTensorsFormatTest, FoldersWithAManifestAreListedAndRemoved) {
  storage::MemoryStore store;
  for (const char* folder : {"job/000012", "job/000007", "job/000007/below", "other/000001"}) {
    ASSERT_TRUE(CommitSavedTensors(store, folder, PutTinyTensors(store, folder)).ok());
  }
  PutTinyTensors(store, "job/000013");  // never committed
  for (const std::string other :
       {"", "{", R"({"format": "espalier.checkpoint"})", R"({"format": "espalier.tensors2"})"}) {
    const std::string key = "job/other" + std::to_string(other.size()) + "/manifest.json";
    ASSERT_TRUE(store.PutIfAbsent(key, std::as_bytes(std::span<const char>(other))).ok());
  }
  const std::string another_style = "{\"format\" :\"espalier.tensors\"}";
  ASSERT_TRUE(store.PutIfAbsent("styled/it/manifest.json", std::as_bytes(std::span<const char>(another_style))).ok());
  EXPECT_THAT(*ListSavedTensors(store, "styled"), ElementsAre("it"));
  EXPECT_THAT(*ListSavedTensors(store, "job"), ElementsAre("000007", "000012"));
  EXPECT_THAT(*ListSavedTensors(store, ""), ElementsAre());
  ASSERT_TRUE(RemoveSavedTensors(store, "job/000012").ok());
  EXPECT_THAT(*ListSavedTensors(store, "job"), ElementsAre("000007"));
  EXPECT_TRUE(store.List("job/000012/")->empty());
  ASSERT_TRUE(RemoveSavedTensors(store, "job/000013").ok());
  EXPECT_TRUE(store.List("job/000013/")->empty());
}

TEST(SavedTensorsFormatTest, EightManifestsAreReadInParallel) {
  storage::MemoryStore inner;
  for (int i = 0; i < 20; ++i) {
    const std::string folder = "job/" + std::to_string(100 + i);
    ASSERT_TRUE(CommitSavedTensors(inner, folder, PutTinyTensors(inner, folder)).ok());
  }
  std::mutex mutex;
  std::condition_variable arrived;
  int reading = 0, max_at_once = 0;  // guarded by mutex, like given_up
  bool given_up = false;
  storage::HookedStore store(inner, [&](const std::string&, storage::ByteRange, std::span<std::byte>) {
    std::unique_lock lock(mutex);
    max_at_once = std::max(max_at_once, ++reading);
    arrived.notify_all();
    const bool met = arrived.wait_for(lock, std::chrono::seconds(60), [&] { return max_at_once >= 8 || given_up; });
    if (!met) given_up = true;
    --reading;
    return Status();
  });
  const auto listed = ListSavedTensors(store, "job");
  ASSERT_TRUE(listed.ok()) << listed.status().ToString();
  EXPECT_EQ(listed->size(), 20u);
  EXPECT_EQ(listed->front(), "100");
  EXPECT_EQ(max_at_once, 8);

  const storage::HookedStore::AfterRead fail_two = [](const std::string& key, auto, auto) {
    const bool fails = key == "job/105/manifest.json" || key == "job/107/manifest.json";
    return fails ? Unavailable("no answer for " + key) : Status();
  };
  storage::HookedStore failing(inner, fail_two);
  const Status failed = ListSavedTensors(failing, "job").status();
  EXPECT_EQ(failed.code(), StatusCode::kUnavailable);
  EXPECT_THAT(failed.message(), HasSubstr("no answer for job/10"));
}

// The caller passes the parent folder by mistake.
TEST(SavedTensorsFormatTest, ForeignFilesAreNotRemoved) {
  storage::MemoryStore store;
  ASSERT_TRUE(CommitSavedTensors(store, "job/000012", PutTinyTensors(store, "job/000012")).ok());
  for (const char* key : {"job/notes.txt", "job/save-1/kept", "job/save-0123456789abcdef", "jobs/kept"}) {
    ASSERT_TRUE(store.PutIfAbsent(key, {}).ok()) << key;
  }
  const size_t num_objects = store.List("")->size();
  ASSERT_TRUE(RemoveSavedTensors(store, "job").ok());
  ASSERT_TRUE(RemoveSavedTensors(store, "").ok());
  EXPECT_EQ(store.List("")->size(), num_objects);
  EXPECT_THAT(*ListSavedTensors(store, "job"), ElementsAre("000012"));
}

TEST(SavedTensorsManifestTest, NamesInvalidField) {
  storage::MemoryStore store;
  const std::string text = SavedTensorsToJson(PutTinyTensors(store, kSavedFolder));
  const auto error_with = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json changed = nlohmann::json::parse(text);
    changed[nlohmann::json::json_pointer(pointer)] = value;
    return SavedTensorsFromJson(changed.dump()).status();
  };
  const std::tuple<const char*, nlohmann::json, const char*> wrong[] = {
      {"/format", "espalier.checkpoint", "expected espalier.tensors"},
      {"/format_version", 2, "supports version 1, found 2"},
      {"/notes/epoch", 3, "notes.epoch"},
      {"/tensors/0/dtype", "F31", "tensors[0].dtype"},
      {"/tensors/0/row_shape", nlohmann::json::array({-1}), "tensors[0].row_shape"},
      {"/tensors/0/row_shape", nlohmann::json::array({uint64_t{1} << 40, uint64_t{1} << 40}), "tensors[0].row_shape"},
      {"/tensors/0/num_rows", "3", "tensors[0].num_rows"},
      {"/tensors/0/ends", "abc", "16 hexadecimal digits"},
      {"/tensors/0/files/0/key", "../x", "tensors[0].files[0].key"},
      {"/tensors/0/files/1/xxh3_64", nlohmann::json::array(), "tensors[0].files[1].xxh3_64"},
      {"/embeddings/1/version", -1, "embeddings[1].version"},
      {"/embeddings/0/optimizer", 4, "embeddings[0].optimizer"},
      {"/embeddings/0/values/dtype", "F31", "embeddings[0].values.dtype"},
      {"/embeddings/0/values/row_shape", nlohmann::json::array({2, 1}), "embeddings[0].values.row_shape: expected one"},
      {"/embeddings/0/state/dtype", "F16", "embeddings[0].state.dtype: expected F32"},
      {"/embeddings/0/state/row_shape", nlohmann::json::array(), "embeddings[0].state.row_shape: expected one"},
      {"/embeddings/0/state/num_rows", 4, "embeddings[0].state: expected the rows of the values"},
      {"/embeddings/0/state/files", nlohmann::json::array(), "in as many files"}};
  for (const auto& [pointer, value, words] : wrong) {
    const Status refused = error_with(pointer, value);
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << pointer;
    EXPECT_THAT(refused.message(), HasSubstr(words)) << pointer;
  }
  nlohmann::json twice = nlohmann::json::parse(text);
  twice["tensors"].push_back(twice["tensors"][0]);
  EXPECT_THAT(SavedTensorsFromJson(twice.dump()).status().message(), HasSubstr("a second tensor 'scores'"));
  twice = nlohmann::json::parse(text);
  twice["embeddings"].push_back(twice["embeddings"][1]);
  EXPECT_THAT(SavedTensorsFromJson(twice.dump()).status().message(), HasSubstr("a second embedding 'none' of own"));
}

// A manifest without embeddings has no field "embeddings".
TEST(SavedTensorsManifestTest, EmbeddingsNeedNotBeNamed) {
  SavedTensorsManifest manifest;
  const std::string text = SavedTensorsToJson(manifest);
  EXPECT_EQ(text.find("embeddings"), std::string::npos);
  const auto back = SavedTensorsFromJson(text);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(*back, manifest);
}

TEST(SavedTensorsManifestTest, RefusesGarbage) {
  storage::MemoryStore store;
  const std::string text = SavedTensorsToJson(PutTinyTensors(store, kSavedFolder));
  std::mt19937_64 random(11);
  for (int i = 0; i < 3000; ++i) {
    const auto parsed = SavedTensorsFromJson(Mutated(text, random));
    if (parsed.ok()) continue;
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace espalier::format
