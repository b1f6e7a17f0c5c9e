#include "services/format/source/npy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/format/source/testing/source_files.h"

namespace espalier::format {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Dictionary(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

std::string ErrorOfFile(const std::string& bytes) {
  const testing::TemporaryFolder folder;
  const Result<Tensor> tensor = ReadNpy(folder.Write("x.npy", bytes));
  return tensor.ok() ? "OK" : tensor.status().message();
}
std::string ErrorOfHeader(const std::string& dictionary) {
  return ErrorOfFile(testing::Npy(dictionary, std::string(16, 'x')));
}

TEST(NpyFileTest, ReadsWhatNumpyWrites) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.Write(
      "x.npy", testing::Npy(Dictionary("<f4", "False", "(2, 3)"), testing::BytesOf<float>({1, 2, 3, 4, 5, 6})));
  const Result<Tensor> tensor = ReadNpy(path);
  ASSERT_TRUE(tensor.ok()) << tensor.status().ToString();
  EXPECT_EQ(tensor->ToString(), "F32 [2, 3]");
  EXPECT_THAT(tensor->values<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(NpyFileTest, ReadsVersionsTwoAndThreeAndKeysInAnyOrder) {
  for (const char version : {'\x02', '\x03'}) {
    const std::string dictionary = "{\"shape\": (2,), \"fortran_order\": False, \"descr\": \"<i8\"}\n";
    std::string file("\x93NUMPY", 6);
    file += version;
    file += std::string("\0", 1) + static_cast<char>(dictionary.size()) + std::string("\0\0\0", 3) + dictionary;
    const testing::TemporaryFolder folder;
    // The data does not start at a multiple of 8, so it is copied.
    const Result<Tensor> tensor = ReadNpy(folder.Write("x.npy", file + testing::BytesOf<int64_t>({7, -8})));
    ASSERT_TRUE(tensor.ok()) << tensor.status().ToString();
    EXPECT_THAT(tensor->values<int64_t>(), ElementsAre(7, -8));
  }
}

TEST(NpyFileTest, RoundTripsEveryDType) {
  const testing::TemporaryFolder folder;
  for (uint8_t number = 1; IsValidDType(number); ++number) {
    const auto dtype = static_cast<DType>(number);
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {0}, {3}, {0, 5}, {2, 3, 4}}) {
      Tensor tensor = Tensor::Zeros(dtype, shape);
      for (size_t i = 0; i < tensor.size_bytes(); ++i) tensor.mutable_bytes()[i] = static_cast<std::byte>(i % 2);
      const std::string path = folder.path() + "/x.npy";
      ASSERT_EQ(WriteNpy(path, tensor), Status());
      const Result<Tensor> back = ReadNpy(path, dtype);
      ASSERT_TRUE(back.ok()) << back.status().ToString();
      EXPECT_EQ(back->ToString(), tensor.ToString());
      EXPECT_TRUE(std::equal(back->byte_span().begin(), back->byte_span().end(), tensor.byte_span().begin()));
    }
  }
}

TEST(NpyFileTest, NamesUnsupportedTypes) {
  EXPECT_THAT(ErrorOfHeader(Dictionary("<f4", "True", "(2, 2)")), HasSubstr("Fortran order"));
  EXPECT_THAT(ErrorOfHeader(Dictionary(">f4", "False", "(4,)")), HasSubstr("big-endian"));
  EXPECT_THAT(ErrorOfHeader(Dictionary("|O", "False", "(2,)")), HasSubstr("Python objects"));
  EXPECT_THAT(ErrorOfHeader(Dictionary("<c8", "False", "(2,)")), HasSubstr("complex"));
  EXPECT_THAT(ErrorOfHeader(Dictionary("<U4", "False", "(1,)")), HasSubstr("text is not supported"));
  EXPECT_THAT(ErrorOfHeader(Dictionary(">U4", "False", "(1,)")), HasSubstr("text is not supported"));
  EXPECT_THAT(ErrorOfHeader(Dictionary("<M8[s]", "False", "(1,)")), HasSubstr("save x.astype('int64')"));
  EXPECT_THAT(ErrorOfHeader("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }"),
              HasSubstr("the dtype is a structure"));
}

TEST(NpyFileTest, RefusesHeadersThatDoNotFitTheFile) {
  EXPECT_THAT(ErrorOfHeader(Dictionary("<f4", "False", "(1000000000000,)")),
              AllOf(HasSubstr("x.npy"), HasSubstr("promises 4000000000000 bytes of data, the file has 16")));
  EXPECT_THAT(ErrorOfHeader(Dictionary("<f4", "False", "(9223372036854775807, 9223372036854775807)")),
              HasSubstr("2^63 elements or more"));
  EXPECT_THAT(ErrorOfHeader(Dictionary("<f4", "False", "(3,)")), HasSubstr("promises 12 bytes"));
  EXPECT_THAT(ErrorOfHeader(Dictionary("<f4", "False", "(-4,)")), HasSubstr("'shape' is not a tuple"));
  EXPECT_EQ(ErrorOfHeader(Dictionary("<f4", "False", "(4,)")), "OK");
}

TEST(NpyFileTest, RefusesGarbageAndEveryTruncation) {
  EXPECT_THAT(ErrorOfFile(""), HasSubstr("not a .npy file"));
  EXPECT_THAT(ErrorOfFile("PK\x03\x04 and so on and on"), HasSubstr("not a .npy file"));
  EXPECT_THAT(ErrorOfFile(std::string("\x93NUMPY\x07\x00\x10\x00", 10)), HasSubstr("version is 7"));
  EXPECT_THAT(ErrorOfFile(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)), HasSubstr("expected at most 2^20"));
  const std::string whole = testing::Npy(Dictionary("<f4", "False", "(4,)"), std::string(16, 'x'));
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(ErrorOfFile(whole.substr(0, length)), "OK") << length;
  for (const char* bad : {"", "[1]", "{", "{'descr'", "{'descr': 4}", "{'descr': '<f4', 'shape': (4,)}",
                          "{'descr': '<f4', 'fortran_order': 0, 'shape': (4,)}", "{'x': 1}",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (4 4)}",
                          "{'descr': '<f4', 'fortran_order': False, 'shape': (4"}) {
    EXPECT_NE(ErrorOfHeader(bad), "OK") << bad;
  }
}

TEST(NpyFileTest, DeclaredBFloat16ReadsOnlyUint16) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.Write(
      "x.npy", testing::Npy(Dictionary("<u2", "False", "(2,)"), testing::BytesOf<uint16_t>({0x3F80, 0x4000})));
  const Result<Tensor> tensor = ReadNpy(path, DType::kBF16);
  ASSERT_TRUE(tensor.ok()) << tensor.status().ToString();
  EXPECT_EQ(tensor->ValueAsDouble(1), 2.0);
  EXPECT_THAT(ReadNpy(path, DType::kF32).status().message(), HasSubstr("the dtype is U16: expected F32, as declared"));
  EXPECT_EQ(ReadNpy(folder.path() + "/y.npy").status().code(), StatusCode::kNotFound);
}

TEST(NpyFileTest, AFullDiskIsAnErrorThatNamesTheFile) {
  const Status status = WriteNpy("/dev/full", Tensor::Zeros(DType::kF32, {1000}));
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), AllOf(HasSubstr("/dev/full"), HasSubstr("No space left")));
}

}  // namespace
}  // namespace espalier::format
