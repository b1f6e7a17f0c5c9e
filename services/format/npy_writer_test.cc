#include "services/format/npy_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "services/base/hash.h"
#include "services/format/node_results.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/faulty_store.h"

namespace espalier::format {
namespace {

using ::testing::HasSubstr;

std::string Npy(const Tensor& tensor, BFloat16Policy policy = BFloat16Policy::kRefuse) {
  storage::MemoryStore store;
  const Result<FileEntry> entry = WriteNpy(store, "x.npy", tensor, policy);
  EXPECT_TRUE(entry.ok()) << entry.status().ToString();
  const std::string bytes = *store.Get("x.npy");
  EXPECT_EQ(entry->size_bytes, bytes.size());
  EXPECT_THAT(entry->block_hashes, ::testing::ElementsAre(Hash64(bytes)));
  return bytes;
}

TEST(NpyWriterTest, WritesVersionOneWithAlignedData) {
  const std::string bytes = Npy(Tensor::FromVector<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t header_bytes = static_cast<uint8_t>(bytes[8]) + 256u * static_cast<uint8_t>(bytes[9]);
  EXPECT_EQ((10 + header_bytes) % 64, 0u);
  EXPECT_EQ(bytes[10 + header_bytes - 1], '\n');
  EXPECT_THAT(bytes.substr(10, header_bytes),
              ::testing::StartsWith("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"));
  ASSERT_EQ(bytes.size(), 10 + header_bytes + 24);
  float last = 0;
  std::memcpy(&last, bytes.data() + bytes.size() - 4, 4);
  EXPECT_EQ(last, 6);
}

TEST(NpyWriterTest, NamesEveryTypeAsNumPyDoes) {
  const std::pair<DType, const char*> types[] = {
      {DType::kBool, "'|b1'"}, {DType::kU8, "'|u1'"},  {DType::kI8, "'|i1'"},  {DType::kU16, "'<u2'"},
      {DType::kI16, "'<i2'"},  {DType::kU32, "'<u4'"}, {DType::kI32, "'<i4'"}, {DType::kU64, "'<u8'"},
      {DType::kI64, "'<i8'"},  {DType::kF16, "'<f2'"}, {DType::kF32, "'<f4'"}, {DType::kF64, "'<f8'"}};
  for (const auto& [dtype, name] : types) EXPECT_THAT(Npy(Tensor::Zeros(dtype, {2})), HasSubstr(name));
}

TEST(NpyWriterTest, WritesScalarsVectorsAndEmptyArrays) {
  EXPECT_THAT(Npy(Tensor::FromVector<double>({1.5}, {})), HasSubstr("'shape': (), }"));
  EXPECT_THAT(Npy(Tensor::Zeros(DType::kU8, {3})), HasSubstr("'shape': (3,), }"));
  EXPECT_THAT(Npy(Tensor::Zeros(DType::kF32, {0, 16})), HasSubstr("'shape': (0, 16), }"));
}

TEST(NpyWriterTest, RefusesBFloat16UnlessAskedForItsBits) {
  const Tensor tensor = Tensor::Zeros(DType::kBF16, {2});
  storage::MemoryStore store;
  const Status status = WriteNpy(store, "emb.npy", tensor).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("emb.npy: NumPy has no bfloat16"));
  EXPECT_TRUE(store.List("")->empty());
  EXPECT_THAT(Npy(tensor, BFloat16Policy::kStoreBits), HasSubstr("'<u2'"));
}

TEST(NodeResultsTest, DescribesItsFiles) {
  storage::MemoryStore store;
  const NodeResult result = {"paper", Tensor::FromVector<uint64_t>({3, 5}), Tensor::Zeros(DType::kF16, {2, 4})};
  ASSERT_TRUE(WriteNodeResults(store, "out", "embeddings", {{"graph", "tiny"}}, {result}).ok());

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
  EXPECT_EQ(type["ids"]["xxh3_64"][0], HexOf(Hash64(*store.Get("out/embeddings/paper/ids.npy"))));
}

TEST(NodeResultsTest, WidensBFloat16) {
  storage::MemoryStore store;
  Tensor halves = Tensor::Zeros(DType::kBF16, {1, 1});
  const uint16_t bits = FloatToBFloat16(1.5F);
  std::memcpy(halves.mutable_bytes(), &bits, 2);
  ASSERT_TRUE(WriteNodeResults(store, "", "embeddings", {}, {{"n", Tensor::FromVector<uint64_t>({0}), halves}}).ok());
  const std::string bytes = *store.Get("embeddings/n/values.npy");
  float value = 0;
  std::memcpy(&value, bytes.data() + bytes.size() - 4, 4);
  EXPECT_EQ(value, 1.5F);
  EXPECT_THAT(bytes, HasSubstr("'<f4'"));
}

TEST(NodeResultsTest, RefusesRowsWithoutIds) {
  storage::MemoryStore store;
  const NodeResult bad[] = {{"n", Tensor::FromVector<uint64_t>({1}), Tensor::Zeros(DType::kF32, {2, 4})},
                            {"n", Tensor::FromVector<float>({1, 2}), Tensor::Zeros(DType::kF32, {2, 4})},
                            {"n", Tensor::FromVector<uint64_t>({1}, {1, 1}), Tensor::Zeros(DType::kF32, {1})},
                            {"../n", Tensor::FromVector<uint64_t>({1}), Tensor::Zeros(DType::kF32, {1})}};
  for (const NodeResult& result : bad) {
    EXPECT_EQ(WriteNodeResults(store, "", "predictions", {}, {result}).code(), StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(store.List("")->empty());
}

TEST(NodeResultsTest, LeavesNoManifestWhenTheDiskIsFull) {
  const NodeResult result = {"n", Tensor::FromVector<uint64_t>({1}), Tensor::Zeros(DType::kF32, {1})};
  for (int64_t n = 0; n < 8; ++n) {
    storage::MemoryStore inner;
    storage::FaultyStore store(inner, n);
    EXPECT_EQ(WriteNodeResults(store, "", "predictions", {}, {result}).code(), StatusCode::kResourceExhausted) << n;
    EXPECT_EQ(inner.Get("predictions/manifest.json").status().code(), StatusCode::kNotFound) << n;
  }
}

}  // namespace
}  // namespace espalier::format
