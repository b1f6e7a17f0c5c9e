#include "services/format/files/npy_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "services/base/hash.h"
#include "services/storage/memory_store.h"

namespace espalier::format {
namespace {

using ::testing::HasSubstr;

std::string Npy(const Tensor& tensor) {
  storage::MemoryStore store;
  const Result<FileEntry> entry = WriteNpy(store, "x.npy", tensor);
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

TEST(NpyWriterTest, RefusesBFloat16) {
  const Tensor tensor = Tensor::Zeros(DType::kBF16, {2});
  storage::MemoryStore store;
  const Status status = WriteNpy(store, "emb.npy", tensor).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("emb.npy: NumPy has no bfloat16"));
  EXPECT_TRUE(store.List("")->empty());
}

TEST(NpyWriterTest, JoinsThePiecesOfAnArray) {
  const Tensor tensor = Tensor::FromVector<int32_t>({1, 2, 3, 4, 5, 6}, {3, 2});
  storage::MemoryStore store;
  Result<NpyWriter> writer = NpyWriter::Open(store, "pieces.npy", DType::kI32, {3, 2});
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  ASSERT_TRUE(writer->Write(tensor.byte_span().first(8)).ok());
  EXPECT_EQ(store.Get("pieces.npy").status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(writer->Write(tensor.byte_span().subspan(8)).ok());
  const Result<FileEntry> entry = writer->Commit();
  ASSERT_TRUE(entry.ok()) << entry.status().ToString();
  EXPECT_EQ(*store.Get("pieces.npy"), Npy(tensor));
  EXPECT_THAT(entry->block_hashes, ::testing::ElementsAre(Hash64(Npy(tensor))));
}

TEST(NpyWriterTest, RefusesAnArrayOfAnotherSize) {
  const Tensor tensor = Tensor::Zeros(DType::kF32, {4});
  storage::MemoryStore store;
  {
    Result<NpyWriter> longer = NpyWriter::Open(store, "x.npy", DType::kF32, {5});
    ASSERT_TRUE(longer.ok() && longer->Write(tensor.byte_span()).ok());
    EXPECT_THAT(longer->Commit().status().message(), HasSubstr("x.npy: the array's last 4 bytes are missing"));
    Result<NpyWriter> shorter = NpyWriter::Open(store, "x.npy", DType::kF32, {3});
    ASSERT_TRUE(shorter.ok());
    EXPECT_THAT(shorter->Write(tensor.byte_span()).message(), HasSubstr("x.npy: 4 bytes more"));
  }
  EXPECT_TRUE(store.List("")->empty());
  EXPECT_EQ(NpyWriter::Open(store, "x.npy", DType::kF32, {-1}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::format
