#include "services/rpc/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "espalier/graph/v1/graph.pb.h"
#include "services/base/philox.h"

namespace espalier::rpc {
namespace {

using graph::v1::GatherRowsRequest;
using ::testing::HasSubstr;

Tensor Counting(size_t count) {
  std::vector<uint32_t> values(count);
  std::iota(values.begin(), values.end(), 7u);
  return Tensor::FromVector(std::move(values));
}

GatherRowsRequest Header() {
  GatherRowsRequest header;
  header.set_column("node-feat");
  header.set_row_bytes(400);
  return header;
}

std::string BytesOf(const grpc::ByteBuffer& message) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(message.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

// Returns the bytes as a buffer with slices that end at `cuts`.
grpc::ByteBuffer Sliced(const std::string& bytes, const std::vector<size_t>& cuts) {
  std::vector<grpc::Slice> slices;
  size_t begin = 0;
  for (const size_t cut : cuts) {
    slices.emplace_back(bytes.data() + begin, cut - begin);
    begin = cut;
  }
  slices.emplace_back(bytes.data() + begin, bytes.size() - begin);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::ByteBuffer OneSlice(const std::string& bytes) { return Sliced(bytes, {}); }

void ExpectEqual(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.ToString(), b.ToString());
  EXPECT_TRUE(std::equal(a.byte_span().begin(), a.byte_span().end(), b.byte_span().begin()));
}

TEST(FrameTest, RoundTrips) {
  const std::vector<Tensor> tensors = {Counting(3), Tensor::Zeros(DType::kF32, {0, 128}), Counting(5000),
                                       Tensor::FromVector<double>({1.5, -2}, {2, 1}), Tensor::Zeros(DType::kI64, {})};

  const auto frame = DecodeFrame<GatherRowsRequest>(EncodeFrame(Header(), tensors));

  ASSERT_TRUE(frame.ok()) << frame.status().ToString();
  EXPECT_EQ(frame->header.column(), "node-feat");
  EXPECT_EQ(frame->header.row_bytes(), 400u);
  ASSERT_EQ(frame->tensors.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) ExpectEqual(frame->tensors[i], tensors[i]);
}

TEST(FrameTest, SendsLargeTensorsFromTheirOwnMemory) {
  const Tensor large = Counting(1 << 20);
  const std::vector<Tensor> tensors = {large};

  const grpc::ByteBuffer message = EncodeFrame(Header(), tensors);

  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(message.Dump(&slices).ok());
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(static_cast<const void*>(slices[1].begin()), static_cast<const void*>(large.bytes()));
}

TEST(FrameTest, KeepsTheTensorsMemoryAsLongAsTheMessage) {
  grpc::ByteBuffer message;
  {
    const std::vector<Tensor> tensors = {Counting(100'000)};
    message = EncodeFrame(Header(), tensors);
  }
  const auto frame = DecodeFrame<GatherRowsRequest>(message);
  message.Clear();
  ASSERT_TRUE(frame.ok());
  ExpectEqual(frame->tensors[0], Counting(100'000));
}

TEST(FrameTest, DoesNotDependOnSliceBoundaries) {
  const std::vector<Tensor> tensors = {Counting(3), Tensor::FromVector<uint64_t>({1, 2, 3})};
  const std::string bytes = BytesOf(EncodeFrame(Header(), tensors));
  for (size_t first = 0; first <= bytes.size(); ++first) {
    for (size_t second = first; second <= bytes.size(); second += 3) {
      const auto frame = DecodeFrame<GatherRowsRequest>(Sliced(bytes, {first, second}));
      ASSERT_TRUE(frame.ok()) << first << " " << second << " " << frame.status().ToString();
      ExpectEqual(frame->tensors[0], tensors[0]);
      ExpectEqual(frame->tensors[1], tensors[1]);
    }
  }
}

TEST(FrameTest, ReadsAMessageOfOneByteSlices) {
  const std::vector<Tensor> tensors = {Counting(300)};
  const std::string bytes = BytesOf(EncodeFrame(Header(), tensors));
  std::vector<size_t> cuts(bytes.size() - 1);
  std::iota(cuts.begin(), cuts.end(), size_t{1});

  const auto frame = DecodeFrame<GatherRowsRequest>(Sliced(bytes, cuts));

  ASSERT_TRUE(frame.ok()) << frame.status().ToString();
  ExpectEqual(frame->tensors[0], tensors[0]);
}

TEST(FrameTest, AlignsUnalignedTensors) {
  for (size_t padding = 0; padding < 9; ++padding) {
    GatherRowsRequest header;
    header.set_column(std::string(padding, 'x'));
    const std::vector<Tensor> tensors = {Tensor::FromVector<uint64_t>({1, 2, 3})};
    const auto frame = DecodeFrame<GatherRowsRequest>(EncodeFrame(header, tensors));
    ASSERT_TRUE(frame.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(frame->tensors[0].bytes()) % 8, 0u);
    ExpectEqual(frame->tensors[0], tensors[0]);
  }
}

struct Broken {
  const char* what;
  std::string bytes;
  const char* message;
};

std::string WithHeader(const GatherRowsRequest& header, const std::string& rest) {
  std::string bytes = BytesOf(EncodeFrameBytes(header, {}));
  return bytes + rest;
}

GatherRowsRequest HeaderWithTensor(uint32_t dtype, const std::vector<int64_t>& shape) {
  GatherRowsRequest header;
  tensor::v1::TensorHeader* tensor = header.add_tensors();
  tensor->set_dtype(dtype);
  tensor->mutable_shape()->Add(shape.begin(), shape.end());
  return header;
}

TEST(FrameTest, RefusesInconsistentFrames) {
  const uint32_t u32 = static_cast<uint32_t>(DType::kU32);
  const int64_t huge = int64_t{1} << 61;
  const Broken cases[] = {
      {"empty", "", "header length"},
      {"half a length", std::string("\x01\x00", 2), "header length"},
      {"header longer than the message", std::string("\xff\x00\x00\x00 ", 5), "the header length is 255 bytes"},
      {"header of gigabytes", std::string("\xff\xff\xff\xff", 4), "expected at most 4194304"},
      {"header that is no protobuf", std::string("\x02\x00\x00\x00\xff\xff", 6), "is not a valid espalier.graph.v1"},
      {"unknown dtype", WithHeader(HeaderWithTensor(99, {1}), "1234"), "dtype number 99"},
      {"dtype 0", WithHeader(HeaderWithTensor(0, {1}), "1234"), "dtype number 0"},
      {"dtype beyond a byte", WithHeader(HeaderWithTensor(256 + u32, {1}), "1234"), "dtype number"},
      {"negative dimension", WithHeader(HeaderWithTensor(u32, {-1}), "1234"), "tensor 0"},
      {"overflowing shape", WithHeader(HeaderWithTensor(u32, {huge, 8}), "1234"), "tensor 0"},
      {"overflowing bytes", WithHeader(HeaderWithTensor(u32, {huge}), "1234"), "tensor 0"},
      {"too few bytes", WithHeader(HeaderWithTensor(u32, {2}), "1234"),
       "8 bytes, but the message has only 4 bytes left"},
      {"bytes after the end", WithHeader(HeaderWithTensor(u32, {1}), "12345"), "1 bytes after the last tensor"},
  };
  for (const Broken& broken : cases) {
    const auto frame = DecodeFrame<GatherRowsRequest>(OneSlice(broken.bytes));
    ASSERT_FALSE(frame.ok()) << broken.what;
    EXPECT_EQ(frame.status().code(), StatusCode::kInvalidArgument) << broken.what;
    EXPECT_THAT(frame.status().message(), HasSubstr(broken.message)) << broken.what;
  }
}

TEST(FrameTest, RefusesAnInvalidBuffer) {
  EXPECT_EQ(DecodeFrame<GatherRowsRequest>(grpc::ByteBuffer()).status().code(), StatusCode::kInvalidArgument);
}

// Randomly damaged messages in random slices: decoding returns tensors of exactly the declared sizes or an error,
// without out-of-bounds reads (checked by the sanitizers).
TEST(FrameTest, SurvivesRandomDamage) {
  const std::vector<Tensor> tensors = {Counting(20), Tensor::FromVector<uint64_t>({1, 2, 3}, {3, 1})};
  const std::string original = BytesOf(EncodeFrame(Header(), tensors));
  PhiloxStream random(2026, 1);
  int decoded = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = original;
    const uint32_t damages = 1 + random.NextBelow(4);
    for (uint32_t i = 0; i < damages && !bytes.empty(); ++i) {
      const size_t at = random.NextBelow(static_cast<uint32_t>(bytes.size()));
      switch (random.NextBelow(4)) {
        case 0: bytes[at] = static_cast<char>(random.Next()); break;
        case 1: bytes.resize(at); break;
        case 2: bytes.insert(at, 1, static_cast<char>(random.Next())); break;
        default: bytes.erase(at, 1); break;
      }
    }
    const size_t cut = random.NextBelow(static_cast<uint32_t>(bytes.size()) + 1);
    const auto frame = DecodeFrame<GatherRowsRequest>(Sliced(bytes, {cut}));
    if (!frame.ok()) {
      EXPECT_EQ(frame.status().code(), StatusCode::kInvalidArgument);
      continue;
    }
    ++decoded;
    uint64_t sum = 0;
    for (const Tensor& tensor : frame->tensors) {
      for (const std::byte byte : tensor.byte_span()) sum += std::to_integer<uint64_t>(byte);
    }
    EXPECT_LE(sum, 255 * bytes.size());
  }
  EXPECT_GT(decoded, 1000);  // damage to tensor bytes alone cannot be detected
}

TEST(FrameReaderTest, CopiesAcrossSlices) {
  const std::vector<Tensor> tensors = {Counting(10)};
  const std::string bytes = BytesOf(EncodeFrame(Header(), tensors));
  auto reader = FrameReader::Open(Sliced(bytes, {bytes.size() - 39, bytes.size() - 21, bytes.size() - 1}));
  ASSERT_TRUE(reader.ok());
  GatherRowsRequest header;
  ASSERT_TRUE(reader->ReadHeader(&header).ok());
  ASSERT_EQ(reader->remaining(), 40u);

  uint32_t first = 0, last[9] = {};
  reader->CopyBytes(reinterpret_cast<std::byte*>(&first), sizeof(first));
  reader->CopyBytes(reinterpret_cast<std::byte*>(last), sizeof(last));

  EXPECT_EQ(first, 7u);
  EXPECT_EQ(last[8], 16u);
  EXPECT_EQ(reader->remaining(), 0u);
}

}  // namespace
}  // namespace espalier::rpc
