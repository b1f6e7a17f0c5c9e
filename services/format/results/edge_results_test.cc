#include "services/format/results/edge_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/hash.h"
#include "services/storage/memory_store.h"

namespace espalier::format {
namespace {

Tensor EndIds(std::vector<uint64_t> ids) { return Tensor::FromVector(std::move(ids)); }

EdgeResultsWriter WriterTo(storage::ObjectStore& store) {
  return EdgeResultsWriter(store, "out", "predictions", "user:rates:user", "rated", {{"graph", "tiny"}});
}

TEST(EdgeResultsTest, DescribesItsFiles) {
  storage::MemoryStore store;
  EdgeResultsWriter writer = WriterTo(store);
  ASSERT_TRUE(writer.Begin({"train", 3, DType::kF32, {2}}).ok());
  ASSERT_TRUE(writer.Append(EndIds({3, 4}), EndIds({4, 3}), Tensor::Zeros(DType::kF32, {2, 2})).ok());
  ASSERT_TRUE(writer.Append(EndIds({5}), EndIds({3}), Tensor::Zeros(DType::kF32, {1, 2})).ok());
  ASSERT_TRUE(writer.Begin({"test", 1, DType::kI64, {}}).ok());
  ASSERT_TRUE(writer.Append(EndIds({7}), EndIds({8}), Tensor::FromVector<int64_t>({2})).ok());
  const Result<std::vector<OutputFile>> files = writer.Commit();
  ASSERT_TRUE(files.ok()) << files.status().ToString();

  const auto manifest = nlohmann::json::parse(*store.Get("out/predictions/manifest.json"));
  EXPECT_EQ(manifest["format"], "espalier.edge-results");
  EXPECT_EQ(manifest["kind"], "predictions");
  EXPECT_EQ(manifest["edge_type"], "user:rates:user");
  EXPECT_EQ(manifest["split"], "rated");
  EXPECT_EQ(manifest["attributes"]["graph"], "tiny");
  const auto& part = manifest["parts"][0];
  EXPECT_EQ(part["part"], "train");
  EXPECT_EQ(part["rows"], 3);
  EXPECT_EQ(part["values"]["file"], "train/values.npy");
  EXPECT_EQ(part["values"]["shape"], nlohmann::json({3, 2}));
  EXPECT_EQ(part["sources"]["dtype"], "U64");
  EXPECT_EQ(part["destinations"]["xxh3_64"][0], ToHex(Hash64(*store.Get("out/predictions/train/destinations.npy"))));
  EXPECT_EQ(manifest["parts"][1]["values"]["shape"], nlohmann::json({1}));

  ASSERT_EQ(files->size(), 7u);
  for (const OutputFile& output : *files) {
    EXPECT_EQ(output.kind, "predictions");
    EXPECT_EQ(output.file.size_bytes, store.Get(output.file.key)->size()) << output.file.key;
  }
}

TEST(EdgeResultsTest, RefusesRowsThatDoNotFit) {
  storage::MemoryStore store;
  EdgeResultsWriter writer = WriterTo(store);
  const Tensor values = Tensor::Zeros(DType::kF32, {2});
  EXPECT_FALSE(writer.Append(EndIds({1, 2}), EndIds({2, 1}), values).ok());  // no part has begun
  ASSERT_TRUE(writer.Begin({"test", 2, DType::kF32, {}}).ok());
  const Status one_end = writer.Append(EndIds({1, 2}), EndIds({2}), values);
  EXPECT_EQ(one_end.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(one_end.message(), ::testing::HasSubstr("results of the part 'test'"));
  EXPECT_FALSE(writer.Append(EndIds({1, 2}), EndIds({2, 1}), Tensor::FromVector<int64_t>({0, 1})).ok());
  ASSERT_TRUE(writer.Append(EndIds({1}), EndIds({2}), Tensor::Zeros(DType::kF32, {1})).ok());
  EXPECT_EQ(writer.Commit().status().code(), StatusCode::kInvalidArgument);  // a row is missing
  EXPECT_FALSE(store.Head("out/predictions/manifest.json").ok());
}

TEST(EdgeResultsTest, RefusesInvalidFolderName) {
  storage::MemoryStore store;
  EdgeResultsWriter writer = WriterTo(store);
  EXPECT_EQ(writer.Begin({"../test", 1, DType::kF32, {}}).message(),
            "part '../test' is not a name: expected only letters, digits, '_', '.' and '-', with no '.' or '-' at the "
            "beginning");
  EXPECT_EQ(writer.Begin({"", 1, DType::kF32, {}}).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::format
