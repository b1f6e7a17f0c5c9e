#include "services/format/files/foreign_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/format/files/model_kind.h"
#include "services/format/files/safetensors.h"
#include "services/storage/memory_store.h"

namespace espalier::format {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

FileKind KindOf(const std::string& bytes) { return DetectFileKind(std::as_bytes(std::span(bytes))); }

std::string ErrorOf(const std::string& bytes) {
  return ReadSafetensors(std::as_bytes(std::span(bytes)), nullptr).status().ToString();
}

// Returns a minimal zip archive: `data_bytes` of data, then the names of members as in the directory of an archive.
std::string Archive(const std::string& names, size_t data_bytes = 100) {
  return std::string("PK\x03\x04", 4) + std::string(data_bytes, 'Z') + names + std::string("PK\x05\x06", 4);
}
const std::string kTorchSave = Archive("archive/data.pkl archive/data/0 archive/version");
const std::string kTorchScript = Archive("m/data.pkl m/code/__torch__.py m/constants.pkl m/version", 5 << 20);
// A file of torch.save before PyTorch 1.6 begins with its pickled magic number.
const std::string kLegacy("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);

TEST(ForeignFileTest, RecognizesPytorchFiles) {
  EXPECT_EQ(KindOf(kTorchSave), FileKind::kTorchSave);
  EXPECT_EQ(KindOf(kTorchScript), FileKind::kTorchScript);
  EXPECT_EQ(KindOf(kLegacy), FileKind::kPickle);
  EXPECT_EQ(KindOf(Archive("weights.npy")), FileKind::kZip);
  EXPECT_EQ(KindOf(kTorchScript.substr(0, kTorchScript.size() - 4)), FileKind::kTruncatedZip);
  EXPECT_EQ(KindOf("\x93NUMPY\x01"), FileKind::kNpy);
  EXPECT_EQ(KindOf("\x89HDF\r\n\x1a\n"), FileKind::kHdf5);
  EXPECT_EQ(KindOf(std::string("\2\0\0\0\0\0\0\0{}", 10)), FileKind::kSafetensors);
  // The length of a header of 640 bytes begins with the same bytes as a pickle of protocol 2.
  EXPECT_EQ(KindOf(std::string("\x80\2\0\0\0\0\0\0", 8) + "{" + std::string(700, ' ')), FileKind::kSafetensors);
  for (const std::string& other :
       {std::string(), std::string("PK"), std::string("\x80", 1), std::string("\x80\x09x", 3),
        std::string("\3\0\0\0\0\0\0\0{}", 10), std::string("{\"a\": 1}")}) {
    EXPECT_EQ(KindOf(other), FileKind::kUnknown) << other;
  }
}

TEST(ForeignFileTest, RecognizesObjectsByTheirEnds) {
  storage::MemoryStore store;
  const auto kind_of = [&store](const std::string& key, const std::string& bytes) {
    EXPECT_TRUE(store.PutIfAbsent(key, std::as_bytes(std::span(bytes))).ok());
    return *DetectFileKind(store, key);
  };
  EXPECT_EQ(kind_of("script", kTorchScript), FileKind::kTorchScript);
  EXPECT_EQ(kind_of("cut", kTorchScript.substr(0, 5 << 20)), FileKind::kTruncatedZip);
  EXPECT_EQ(kind_of("save", kTorchSave), FileKind::kTorchSave);
  EXPECT_EQ(kind_of("tensors", std::string("\2\0\0\0\0\0\0\0{}", 10)), FileKind::kSafetensors);
  EXPECT_EQ(kind_of("empty", ""), FileKind::kUnknown);
  EXPECT_EQ(DetectFileKind(store, "nowhere").status().code(), StatusCode::kNotFound);
}

TEST(ForeignFileTest, NamesExpectedModelFile) {
  for (const FileKind kind : {FileKind::kUnknown, FileKind::kTorchSave, FileKind::kPickle, FileKind::kZip,
                              FileKind::kTruncatedZip, FileKind::kNpy, FileKind::kSafetensors}) {
    const Status status = CheckIsTorchScript(kind);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(ToString(kind)));
  }
  EXPECT_TRUE(CheckIsTorchScript(FileKind::kTorchScript).ok());
  EXPECT_TRUE(CheckIsModelFile(FileKind::kSafetensors).ok());
  EXPECT_THAT(CheckIsModelFile(FileKind::kTorchScript).message(),
              HasSubstr("set spec.training.model.type to TorchScript"));
  EXPECT_THAT(CheckIsModelFile(FileKind::kTruncatedZip).message(),
              HasSubstr("a truncated zip archive: built-in models read"));
}

TEST(ForeignFileTest, NamesOtherSafetensors) {
  EXPECT_THAT(ErrorOf(kTorchSave), AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("this is a file of torch.save"),
                                         HasSubstr("safetensors.torch.save_file")));
  EXPECT_THAT(ErrorOf(kTorchScript),
              HasSubstr("this is a TorchScript archive (torch.jit.save): expected a safetensors file"));
  EXPECT_THAT(ErrorOf(kLegacy), HasSubstr("this is a pickle (as torch.save wrote before PyTorch 1.6)"));
  EXPECT_THAT(ErrorOf("\x89HDF\r\n\x1a\n and more"), HasSubstr("this is an HDF5 file"));
  EXPECT_THAT(ErrorOf("something else"), HasSubstr("DATA_LOSS: the header length is"));
}

}  // namespace
}  // namespace espalier::format
