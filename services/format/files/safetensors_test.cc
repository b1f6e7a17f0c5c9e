#include "services/format/files/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "services/format/testing/mutation.h"
#include "services/storage/memory_store.h"
#include "services/storage/testing/faulty_store.h"

namespace espalier::format {
namespace {

using ::testing::HasSubstr;

std::string Written(const Safetensors& content) {
  storage::MemoryStore store;
  const auto writer = store.Put("file");
  const Status written = WriteSafetensors(content, **writer);
  EXPECT_TRUE(written.ok()) << written.ToString();
  EXPECT_TRUE((*writer)->Commit().ok());
  return *store.Get("file");
}

// Reads bytes from memory that is aligned to 64 bytes, as that of a mapped file is.
Result<Safetensors> Read(const std::string& bytes) {
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(64, (bytes.size() / 64 + 1) * 64));
  const std::shared_ptr<const void> owner(memory, std::free);
  std::memcpy(memory, bytes.data(), bytes.size());
  return ReadSafetensors(std::span(memory, bytes.size()), owner);
}

std::string File(const std::string& header, size_t data_bytes) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i));
  return bytes + header + std::string(data_bytes, 'd');
}

nlohmann::ordered_json HeaderOf(const std::string& bytes) {
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  return nlohmann::ordered_json::parse(bytes.substr(8, length));
}

Safetensors OneOfEach() {
  Safetensors content;
  for (uint8_t number = 0; number < 32; ++number) {
    if (!IsValidDType(number)) continue;
    const auto dtype = static_cast<DType>(number);
    Tensor tensor = Tensor::Zeros(dtype, {3, 1});
    for (size_t i = 0; i < tensor.size_bytes(); ++i) {
      tensor.mutable_bytes()[i] = static_cast<std::byte>(dtype == DType::kBool ? i % 2 : number * 16 + i);
    }
    content.tensors[std::string("x/") + ToString(dtype)] = tensor;
  }
  content.tensors["scalar"] = Tensor::FromVector<double>({2.5}, {});
  content.tensors["empty"] = Tensor::Zeros(DType::kI64, {0, 7});
  content.metadata = {{"format", "pt"}, {"quote\"", "line\nbreak"}};
  return content;
}

TEST(SafetensorsTest, RoundTripsTensorsOfEveryType) {
  const Safetensors content = OneOfEach();
  const Result<Safetensors> read = Read(Written(content));
  ASSERT_TRUE(read.ok()) << read.status().ToString();

  EXPECT_EQ(read->metadata, content.metadata);
  ASSERT_EQ(read->tensors.size(), 15u);
  for (const auto& [name, tensor] : content.tensors) {
    const Tensor& back = read->tensors.at(name);
    EXPECT_EQ(back.ToString(), tensor.ToString()) << name;
    EXPECT_EQ(std::memcmp(back.bytes(), tensor.bytes(), tensor.size_bytes()), 0) << name;
  }
}

TEST(SafetensorsTest, AlignsDataWithoutGaps) {
  const std::string bytes = Written(OneOfEach());
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), 8);
  EXPECT_EQ((8 + header_bytes) % 64, 0u);
  uint64_t covered = 0;
  const nlohmann::ordered_json header = HeaderOf(bytes);
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    EXPECT_EQ(entry["data_offsets"][0].get<uint64_t>(), covered) << name;
    EXPECT_EQ(covered % ItemSize(*DTypeFromName(entry["dtype"].get<std::string>())), 0u) << name;
    covered = entry["data_offsets"][1].get<uint64_t>();
  }
  EXPECT_EQ(8 + header_bytes + covered, bytes.size());
}

TEST(SafetensorsTest, WritesAFileOfNoTensors) {
  const Result<Safetensors> read = Read(Written({}));
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_TRUE(read->tensors.empty());
}

TEST(SafetensorsTest, RefusesNamesThatAreNotUtf8) {
  storage::MemoryStore store;
  const auto writer = store.Put("file");
  const Tensor tensor = Tensor::Zeros(DType::kU8, {1});
  for (const char* name : {"__metadata__", "\xff\xfe"}) {
    EXPECT_EQ(WriteSafetensors({{{name, tensor}}, {}}, **writer).code(), StatusCode::kInvalidArgument) << name;
  }
}

TEST(SafetensorsTest, ReportsFullDisk) {
  storage::MemoryStore inner;
  storage::FaultyStore store(inner, 1);
  const auto writer = store.Put("file");
  EXPECT_EQ(WriteSafetensors(OneOfEach(), **writer).code(), StatusCode::kResourceExhausted);
}

struct BadFile {
  std::string what;  // part of the message
  std::string bytes;
};
class BadSafetensorsTest : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadSafetensorsTest, IsRefusedWithAReason) {
  const Result<Safetensors> read = Read(GetParam().bytes);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(read.status().message(), HasSubstr(GetParam().what));
}

std::string OneTensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadSafetensorsTest,
    ::testing::Values(BadFile{"at least 8 bytes", ""}, BadFile{"at least 8 bytes", "1234567"},
                      BadFile{"more than the 100000000", std::string("\0\0\0\0\0\x10\0\0{}", 10)},
                      BadFile{"more than the 100000000", std::string(8, '\xff')},
                      BadFile{"only 2 bytes follow the length", std::string("\x03\0\0\0\0\0\0\0{}", 10)},
                      BadFile{"not acceptable JSON", File("", 0)}, BadFile{"not acceptable JSON", File("{", 0)},
                      BadFile{"not acceptable JSON", File("{} {}", 0)}, BadFile{"not a JSON object", File("[]", 0)},
                      BadFile{"more than 4 containers deep", File(R"({"t":)" + std::string(100000, '[') + "}", 0)},
                      BadFile{"occurs twice", File(R"({"__metadata__":{},"__metadata__":{}})", 0)},
                      BadFile{"occurs twice",
                              File(R"({"t":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0)},
                      BadFile{"__metadata__", File(R"({"__metadata__":{"a":1}})", 0)},
                      BadFile{"__metadata__", File(R"({"__metadata__":[]})", 0)},
                      BadFile{"expected an object of dtype", File(R"({"t":{"dtype":"U8","shape":[1]}})", 1)},
                      BadFile{"expected an object of dtype", File(R"({"t":3})", 0)},
                      BadFile{"'F8' is not an element type", File(OneTensor("F8", "[1]", "[0,1]"), 1)},
                      BadFile{"a dimension of the shape", File(OneTensor("U8", "[-1]", "[0,1]"), 1)},
                      BadFile{"a dimension of the shape", File(OneTensor("U8", "[1.0]", "[0,1]"), 1)},
                      BadFile{"a dimension of the shape", File(OneTensor("U8", "[18446744073709551615]", "[0,1]"), 1)},
                      BadFile{"2^63 elements", File(OneTensor("U8", "[4294967296,4294967296]", "[0,0]"), 0)},
                      BadFile{"make 4000000000000 bytes", File(OneTensor("F32", "[1000000000000]", "[0,4]"), 4)},
                      BadFile{"the file has 4", File(OneTensor("F32", "[1000000000000]", "[0,4000000000000]"), 4)},
                      BadFile{"array of two numbers", File(OneTensor("U8", "[1]", "[0,1,2]"), 1)},
                      BadFile{"end before they begin", File(OneTensor("U8", "[1]", "[1,0]"), 1)},
                      BadFile{"hole or overlap", File(OneTensor("U8", "[1]", "[1,2]"), 2)},
                      BadFile{"hole or overlap", File(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                                      R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                                                      3)},
                      BadFile{"the file has 5", File(OneTensor("U8", "[4]", "[0,4]"), 5)},
                      BadFile{"the file has 3", File(OneTensor("U8", "[4]", "[0,4]"), 3)},
                      BadFile{"not aligned", File(OneTensor("F32", "[1]", "[0,4]"), 4)}));

TEST(SafetensorsTest, RefusesGarbage) {
  const std::string valid = Written(OneOfEach());
  std::mt19937_64 random(20240501);
  int readable = 0;
  for (int i = 0; i < 3000; ++i) {
    const Result<Safetensors> read = Read(Mutated(valid, random));
    if (!read.ok()) continue;
    ++readable;
    uint64_t sum = 0;  // reads all bytes of the tensors
    for (const auto& [name, tensor] : read->tensors) {
      for (const std::byte byte : tensor.byte_span()) sum += static_cast<uint64_t>(byte);
    }
    EXPECT_LE(sum, valid.size() * 1020);
  }
  EXPECT_GT(readable, 0);  // changes in the data are not detected by this format
}

}  // namespace
}  // namespace espalier::format
