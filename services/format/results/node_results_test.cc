#include "services/format/results/node_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "services/base/hash.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/faulty_store.h"

namespace espalier::format {
namespace {

using ::testing::HasSubstr;

Tensor Ids(std::vector<uint64_t> ids) { return Tensor::FromVector(std::move(ids)); }

// Writes one node type with one Append.
Status Write(storage::ObjectStore& store, const NodeResultShape& shape, const Tensor& ids, const Tensor& values) {
  NodeResultsWriter writer(store, "", "predictions", {});
  RETURN_IF_ERROR(writer.Begin(shape));
  RETURN_IF_ERROR(writer.Append(ids, values));
  return writer.Commit().status();
}

TEST(NodeResultsTest, DescribesItsFiles) {
  storage::MemoryStore store;
  NodeResultsWriter writer(store, "out", "embeddings", {{"graph", "tiny"}});
  ASSERT_TRUE(writer.Begin({"paper", 2, DType::kU64, DType::kF16, {4}}).ok());
  ASSERT_TRUE(writer.Append(Ids({3}), Tensor::Zeros(DType::kF16, {1, 4})).ok());
  ASSERT_TRUE(writer.Append(Ids({5}), Tensor::Zeros(DType::kF16, {1, 4})).ok());
  ASSERT_TRUE(writer.Begin({"author", 1, DType::kI32, DType::kI64, {}}).ok());
  ASSERT_TRUE(writer.Append(Tensor::FromVector<int32_t>({7}), Tensor::FromVector<int64_t>({2})).ok());
  const Result<std::vector<OutputFile>> files = writer.Commit();
  ASSERT_TRUE(files.ok()) << files.status().ToString();

  const auto manifest = nlohmann::json::parse(*store.Get("out/embeddings/manifest.json"));
  EXPECT_EQ(manifest["format"], "espalier.node-results");
  EXPECT_EQ(manifest["kind"], "embeddings");
  EXPECT_EQ(manifest["attributes"]["graph"], "tiny");
  const auto& type = manifest["node_types"][0];
  EXPECT_EQ(type["rows"], 2);
  EXPECT_EQ(type["values"]["file"], "paper/values.npy");
  EXPECT_EQ(type["values"]["dtype"], "F16");
  EXPECT_EQ(type["values"]["shape"], nlohmann::json({2, 4}));
  EXPECT_EQ(type["ids"]["size_bytes"], store.Get("out/embeddings/paper/ids.npy")->size());
  EXPECT_EQ(type["ids"]["xxh3_64"][0], ToHex(Hash64(*store.Get("out/embeddings/paper/ids.npy"))));
  EXPECT_EQ(manifest["node_types"][1]["values"]["shape"], nlohmann::json({1}));

  ASSERT_EQ(files->size(), 5u);
  for (const OutputFile& output : *files) {
    EXPECT_EQ(output.kind, "embeddings");
    EXPECT_EQ(output.file.size_bytes, store.Get(output.file.key)->size()) << output.file.key;
    EXPECT_THAT(output.file.block_hashes, ::testing::ElementsAre(Hash64(*store.Get(output.file.key))));
  }
}

TEST(NodeResultsTest, WidensBFloat16) {
  storage::MemoryStore store;
  Tensor halves = Tensor::Zeros(DType::kBF16, {1, 1});
  const uint16_t bits = FloatToBFloat16(1.5F);
  std::memcpy(halves.mutable_bytes(), &bits, 2);
  ASSERT_TRUE(Write(store, {"n", 1, DType::kU64, DType::kBF16, {1}}, Ids({0}), halves).ok());
  const std::string bytes = *store.Get("predictions/n/values.npy");
  float value = 0;
  std::memcpy(&value, bytes.data() + bytes.size() - 4, 4);
  EXPECT_EQ(value, 1.5F);
  EXPECT_THAT(bytes, HasSubstr("'<f4'"));
}

TEST(NodeResultsTest, RefusesRowsWithoutIds) {
  storage::MemoryStore store;
  const NodeResultShape wide = {"n", 2, DType::kU64, DType::kF32, {4}};
  const NodeResultShape scalar = {"n", 1, DType::kU64, DType::kF32, {}};
  const Tensor one = Tensor::Zeros(DType::kF32, {1});
  EXPECT_THAT(
      Write(store, wide, Ids({1}), Tensor::Zeros(DType::kF32, {2, 4})).message(),
      HasSubstr("results of 'n': expected ids U64 [n] and values F32 [n, 4], found ids U64 [1] and values F32 [2, 4]"));
  EXPECT_EQ(Write(store, scalar, Tensor::FromVector<uint64_t>({1}, {1, 1}), one).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Write(store, scalar, Ids({1, 2}), Tensor::Zeros(DType::kF32, {2})).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Write(store, wide, Ids({1}), Tensor::Zeros(DType::kF32, {1, 4})).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Write(store, {"n", 1, DType::kF32, DType::kF32, {}}, one, one).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Write(store, {"../n", 1, DType::kU64, DType::kF32, {}}, Ids({1}), one).code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(store.List("")->empty() || !store.Head("predictions/manifest.json").ok());
}

TEST(NodeResultsTest, LeavesNoManifestWhenTheDiskIsFull) {
  int failures = 0;
  for (int64_t n = 0; n < 16; ++n) {
    storage::MemoryStore inner;
    storage::FaultyStore store(inner, n);
    const Status status =
        Write(store, {"n", 1, DType::kU64, DType::kF32, {}}, Ids({1}), Tensor::Zeros(DType::kF32, {1}));
    if (status.ok()) break;
    ++failures;
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << n;
    EXPECT_EQ(inner.Get("predictions/manifest.json").status().code(), StatusCode::kNotFound) << n;
  }
  EXPECT_GE(failures, 5);
  EXPECT_LT(failures, 16);
}

}  // namespace
}  // namespace espalier::format
