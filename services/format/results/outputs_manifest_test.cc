#include "services/format/results/outputs_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/hash.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/put_text.h"

namespace espalier::format {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OutputFile FileOf(const std::string& key, const std::string& text, const std::string& kind) {
  return {{key, text.size(), {Hash64(text)}}, kind, std::nullopt, {}};
}

OutputsManifest Outputs(uint64_t incarnation) {
  OutputsManifest manifest;
  manifest.incarnation = incarnation;
  OutputFile array = FileOf(ResultsFolder(incarnation) + "/predictions/n/values.npy", "array", "predictions");
  array.dtype = DType::kI64;
  array.shape = {7};
  manifest.files = {FileOf(ResultsFolder(incarnation) + "/metrics.jsonl", "{}\n", "metrics"), array};
  manifest.not_written = {{"embeddings", "a model of one layer has none"}};
  manifest.result_json = "{\"zeta\": 1, \"alpha\": 0.8125}";
  return manifest;
}

TEST(OutputsManifestTest, RoundTrips) {
  const Result<OutputsManifest> back = OutputsManifestFromJson(OutputsManifestToJson(Outputs(3)));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->incarnation, 3u);
  EXPECT_EQ(back->files, Outputs(3).files);
  EXPECT_EQ(back->files[0].file.key, "results/000003/metrics.jsonl");
  EXPECT_EQ(back->not_written, Outputs(3).not_written);
  EXPECT_EQ(back->result_json, "{\n  \"zeta\": 1,\n  \"alpha\": 0.8125\n}\n");  // in the order of writing
}

TEST(OutputsManifestTest, NamesInvalidField) {
  const std::string good = OutputsManifestToJson(Outputs(1));
  const std::pair<std::string, std::string> changes[] = {{"espalier.outputs", "espalier.inputs"},
                                                         {"\"format_version\": 1", "\"format_version\": 2"},
                                                         {"\"incarnation\": 1", "\"incarnation\": -1"},
                                                         {"results/000001/metrics", "../metrics"},
                                                         {"\"size_bytes\": 3", "\"size_bytes\": 9000000"},
                                                         {"\"dtype\": \"I64\"", "\"dtype\": \"I65\""},
                                                         {"\"not_written\"", "\"notWritten\""},
                                                         {"\"result\"", "\"results\""}};
  for (const auto& [from, to] : changes) {
    std::string text = good;
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    EXPECT_EQ(OutputsManifestFromJson(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  for (size_t length = 0; length + 1 < good.size(); length += 7) {
    EXPECT_FALSE(OutputsManifestFromJson(good.substr(0, length)).ok()) << length;
  }
}

TEST(OutputsManifestTest, RecognizesOwnManifests) {
  EXPECT_TRUE(IsOutputsManifest(OutputsManifestToJson(Outputs(1))));
  EXPECT_TRUE(IsOutputsManifest(R"({"format": "espalier.outputs", "format_version": 9})"));
  for (const char* text : {"", "[]", "{}", R"({"format": 3})", R"({"format": "espalier.partitioned-graph"})"}) {
    EXPECT_FALSE(IsOutputsManifest(text)) << text;
  }
}

TEST(OutputsManifestTest, RecognizesKeysOfIncarnation) {
  EXPECT_EQ(IncarnationOfResult(ResultsFolder(3) + "/model/best.safetensors"), 3u);
  EXPECT_EQ(IncarnationOfResult(ResultsFolder(1234567) + "/x"), 1234567u);
  for (const char* key : {"results/000003", "results/3/x", "results/2024/x", "results/00000x/x", "results/0000003/x",
                          "results/", "model/x"}) {
    EXPECT_EQ(IncarnationOfResult(key), std::nullopt) << key;
  }
}

TEST(CommitOutputsTest, NewestIncarnationWins) {
  storage::MemoryStore store;
  EXPECT_EQ(ReadOutputsManifest(store, "job").status().code(), StatusCode::kNotFound);
  for (const uint64_t incarnation : {2u, 2u, 4u}) {
    const Status committed = CommitOutputs(store, "job", Outputs(incarnation));
    EXPECT_TRUE(committed.ok()) << committed.ToString();
    EXPECT_EQ(ReadOutputsManifest(store, "job")->incarnation, incarnation);
  }
  const Status late = CommitOutputs(store, "job", Outputs(3));
  EXPECT_EQ(late.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(late.message(), HasSubstr("incarnation 4 has committed its outputs already"));
  EXPECT_EQ(ReadOutputsManifest(store, "job")->incarnation, 4u);
}

TEST(CommitOutputsTest, ChecksInAdvanceWhetherOutputsAreReplaceable) {
  storage::MemoryStore store;
  EXPECT_FALSE(ReadReplaceableOutputs(store, "job", 1)->has_value());
  ASSERT_TRUE(CommitOutputs(store, "job", Outputs(2)).ok());
  for (const uint64_t incarnation : {2u, 3u}) {
    const auto replaceable = ReadReplaceableOutputs(store, "job", incarnation);
    ASSERT_TRUE(replaceable.ok() && replaceable->has_value()) << replaceable.status().ToString();
    EXPECT_EQ((*replaceable)->files, Outputs(2).files);
  }
  const Status late = ReadReplaceableOutputs(store, "job", 1).status();
  EXPECT_EQ(late.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(late.message(),
              HasSubstr("incarnation 2 has committed its outputs to this location already; this is incarnation 1"));
}

TEST(RemoveOlderResultsTest, KeepsNewerResultsAndForeignFiles) {
  for (const std::string prefix : {"", "job/"}) {
    storage::MemoryStore store;
    for (const char* key : {"results/000001/a", "results/000002/a", "results/000003/a", "results/notes", "model/a"}) {
      ASSERT_TRUE(storage::PutText(store, prefix + key, "x").ok());
    }
    ASSERT_TRUE(RemoveOlderResults(store, prefix.empty() ? "" : "job", 3).ok());
    std::vector<std::string> left;
    const std::vector<storage::ObjectInfo> objects = *store.List("");
    for (const storage::ObjectInfo& object : objects) left.push_back(object.key.substr(prefix.size()));
    EXPECT_THAT(left, ElementsAre("model/a", "results/000003/a", "results/notes"));
  }
}

TEST(CommitOutputsTest, DoesNotReplaceUnreadableManifest) {
  storage::MemoryStore store;
  ASSERT_TRUE(storage::PutText(store, "manifest.json", R"({"format": "espalier.partitioned-graph"})").ok());
  const Status status = CommitOutputs(store, "", Outputs(1));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("manifest.json: format: expected espalier.outputs"));
}

TEST(VerifyOutputsTest, FindsMissingShortAndChangedFiles) {
  const OutputsManifest manifest = Outputs(1);
  const std::string folder = "job/" + ResultsFolder(1);
  storage::MemoryStore store;
  const auto violations = [&] { return VerifyOutputs(store, "job", manifest)->violations; };
  ASSERT_TRUE(storage::PutText(store, folder + "/metrics.jsonl", "{}\n").ok());
  EXPECT_THAT(violations(), ElementsAre(HasSubstr("predictions/n/values.npy is missing")));
  ASSERT_TRUE(storage::PutText(store, folder + "/predictions/n/values.npy", "arra").ok());
  EXPECT_THAT(violations(), ElementsAre(HasSubstr("has 4 bytes, expected 5")));
  ASSERT_TRUE(storage::PutText(store, folder + "/predictions/n/values.npy", "Array").ok());
  EXPECT_THAT(violations(), ElementsAre(HasSubstr("checksum")));
  ASSERT_TRUE(storage::PutText(store, folder + "/predictions/n/values.npy", "array").ok());
  const Result<OutputsReport> report = VerifyOutputs(store, "job", manifest);
  EXPECT_TRUE(report->ok());
  EXPECT_EQ(report->files, 2u);
  EXPECT_EQ(report->bytes, 8u);
}

}  // namespace
}  // namespace espalier::format
