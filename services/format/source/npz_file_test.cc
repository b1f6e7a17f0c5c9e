#include "services/format/source/npz_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/format/source/testing/source_files.h"
#include "services/format/source/testing/zip_files.h"

namespace espalier::format {
namespace {

using ::testing::AllOf;
using testing::BytesOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Npy;
using testing::TemporaryFolder;
using testing::Zip;
using testing::ZipMethod;

using Members = std::vector<std::pair<std::string, std::string>>;

std::string Dictionary(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

std::string Int64s(const std::vector<int64_t>& values) {
  return Npy(Dictionary("<i8", "(" + std::to_string(values.size()) + ",)"), BytesOf(values));
}

// Returns the error of reading `name` from an archive with these bytes, or "OK".
std::string ErrorOfMember(const std::string& zip, const std::string& name = "a") {
  const TemporaryFolder folder;
  const Result<NpzFile> file = NpzFile::Open(folder.Write("x.npz", zip));
  if (!file.ok()) return file.status().ToString();
  const Result<Tensor> tensor = file->Read(name);
  return tensor.ok() ? "OK" : tensor.status().ToString();
}

TEST(NpzFileTest, ReadsMembersInAnyOrderStoredOrDeflated) {
  for (const ZipMethod method : {ZipMethod::kStored, ZipMethod::kDeflated}) {
    const TemporaryFolder folder;
    const std::string floats = Npy(Dictionary("<f4", "(2, 2)"), BytesOf<float>({1, 2, 3, 4.5F}));
    const std::string path = folder.Write("x.npz", Zip({{"b.npy", Int64s({7, 8})}, {"a.npy", floats}}, method));

    const Result<NpzFile> file = NpzFile::Open(path);

    ASSERT_TRUE(file.ok()) << file.status().ToString();
    EXPECT_THAT(file->Names(), ElementsAre("a", "b"));
    EXPECT_TRUE(file->Has("a"));
    EXPECT_FALSE(file->Has("a.npy"));
    const Result<Tensor> a = file->Read("a");
    ASSERT_TRUE(a.ok()) << a.status().ToString();
    EXPECT_EQ(a->ToString(), "F32 [2, 2]");
    EXPECT_THAT(a->values<float>(), ElementsAre(1, 2, 3, 4.5F));
    EXPECT_THAT(file->Read("b")->values<int64_t>(), ElementsAre(7, 8));
  }
}

TEST(NpzFileTest, ReadsManyMegabytesThatDeflateWell) {
  const TemporaryFolder folder;
  const std::vector<int64_t> values(1 << 20, 5);
  const Result<NpzFile> file = NpzFile::Open(folder.Write("x.npz", Zip({{"a.npy", Int64s(values)}})));
  ASSERT_TRUE(file.ok()) << file.status().ToString();
  const Result<Tensor> a = file->Read("a", DType::kI64);
  ASSERT_TRUE(a.ok()) << a.status().ToString();
  EXPECT_EQ(a->num_elements(), 1 << 20);
  EXPECT_EQ(a->ValueAsInt((1 << 20) - 1), 5);
  EXPECT_THAT(file->Read("a", DType::kF32).status().message(),
              HasSubstr("the dtype is I64: expected F32, as declared"));
}

TEST(NpzFileTest, RefusesOtherArchives) {
  EXPECT_THAT(ErrorOfMember(""), HasSubstr("x.npz"));
  EXPECT_THAT(ErrorOfMember("not a zip"), HasSubstr("is not a .npz file"));
  EXPECT_THAT(ErrorOfMember(Int64s({1})), HasSubstr("is not a .npz file"));
  EXPECT_THAT(ErrorOfMember(Zip({{"a.txt", "x"}})), HasSubstr("member 'a.txt' of"));
  EXPECT_THAT(ErrorOfMember(Zip({{"../a.npy", Int64s({1})}})), HasSubstr("expected files named <name>.npy"));
  EXPECT_THAT(ErrorOfMember(Zip({{"/etc/a.npy", Int64s({1})}})), HasSubstr("expected files named <name>.npy"));
  EXPECT_THAT(ErrorOfMember(Zip({{".npy", Int64s({1})}})), HasSubstr("expected files named <name>.npy"));
  EXPECT_THAT(ErrorOfMember(Zip({{"a.npy", Int64s({1})}, {"a.npy", Int64s({2})}})), HasSubstr("'a.npy' twice"));
  EXPECT_THAT(ErrorOfMember(Zip({{"b.npy", Int64s({1})}})), AllOf(HasSubstr("NOT_FOUND"), HasSubstr("there are: b")));
  const TemporaryFolder folder;
  EXPECT_FALSE(NpzFile::Open(folder.path() + "/gone.npz").ok());
  EXPECT_THAT(NpzFile::Open(folder.path()).status().message(), HasSubstr("is a folder"));
}

TEST(NpzFileTest, RefusesArraysThatNumpyWouldUnpickleOrThatDoNotFit) {
  const auto error = [](const std::string& member) { return ErrorOfMember(Zip({{"a.npy", member}})); };
  EXPECT_THAT(error(Npy(Dictionary("|O", "(1,)"), "x")), HasSubstr("object"));
  EXPECT_THAT(error(Npy(Dictionary(">i8", "(1,)"), "12345678")), HasSubstr("big-endian"));
  EXPECT_THAT(error(Npy("{'descr': '<i8', 'fortran_order': True, 'shape': (1, 1), }", "12345678")),
              HasSubstr("Fortran"));
  EXPECT_THAT(error("no array"), HasSubstr("not a .npy file"));
  EXPECT_THAT(error(""), HasSubstr("not a .npy file"));
  EXPECT_THAT(error(Int64s({1, 2}).substr(0, 40)), HasSubstr("ends within the header"));
  EXPECT_THAT(error(Npy(Dictionary("<i8", "(2,)"), "12345678")), HasSubstr("the header promises 16 bytes of data"));
  EXPECT_THAT(error(Npy(Dictionary("<i8", "(1,)"), std::string(16, 'x'))), HasSubstr("the header promises 8 bytes"));
  EXPECT_THAT(error(Npy(Dictionary("<i8", "(1000000000000,)"), "12345678")),
              HasSubstr("the header promises 8000000000000 bytes of data, the member has"));
}

TEST(NpzFileTest, RefusesImplausibleSizes) {
  std::string zip = Zip({{"a.npy", Npy(Dictionary("<i8", "(500000000,)"), "12345678")}}, ZipMethod::kStored);
  // Set the uncompressed size in the directory and in the local header to 4,000,000,128 bytes, the size of the array.
  const size_t entry = zip.rfind("PK\x01\x02");
  ASSERT_NE(entry, std::string::npos);
  const uint32_t size_bytes = 4'000'000'000U + 128;
  for (size_t i = 0; i < 4; ++i) {
    zip[entry + 24 + i] = static_cast<char>(size_bytes >> (8 * i));
    zip[22 + i] = static_cast<char>(size_bytes >> (8 * i));
  }
  EXPECT_THAT(ErrorOfMember(zip), HasSubstr("more than a file of"));
}

TEST(NpzFileTest, DetectsDamage) {
  const std::string good = Zip({{"a.npy", Int64s({1, 2, 3, 4, 5, 6, 7, 8})}}, ZipMethod::kStored);
  ASSERT_EQ(ErrorOfMember(good), "OK");
  std::string flipped = good;
  flipped[good.find(BytesOf<int64_t>({5}))] ^= 1;
  EXPECT_THAT(ErrorOfMember(flipped), AllOf(HasSubstr("DATA_LOSS"), HasSubstr("CRC")));

  const std::string deflated = Zip({{"a.npy", Int64s({1, 2, 3, 4, 5, 6, 7, 8})}});
  for (const std::string& zip : {good, deflated}) {
    for (size_t size = 0; size < zip.size(); size += 7) EXPECT_NE(ErrorOfMember(zip.substr(0, size)), "OK") << size;
    // A damaged byte at any position must not crash the reader.
    for (size_t at = 0; at < zip.size(); at += 3) {
      std::string damaged = zip;
      damaged[at] ^= static_cast<char>(0x55);
      EXPECT_NE(ErrorOfMember(damaged), "") << at;
    }
  }
}

}  // namespace
}  // namespace espalier::format
