#include "services/job/start_files/start_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>

#include "services/format/files/safetensors.h"
#include "services/storage/memory_store.h"

namespace espalier::start_files {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class StartFilesTest : public ::testing::Test {
 protected:
  std::optional<StartFileError> Find(const SharedWithTrainers& shared = {true, true}) const {
    return FindStartFileError(job_, shared, [this](const std::string& uri) -> Result<storage::StoreLocation> {
      if (uri.starts_with("s3://closed")) return FailedPrecondition("there are no credentials");
      return storage::StoreLocation{store_, ""};
    });
  }
  void Put(const std::string& key, const std::string& bytes) {
    ASSERT_TRUE(store_->PutIfAbsent(key, std::as_bytes(std::span(bytes))).ok());
  }
  // Returns the bytes of a model file like those that a run writes to model/.
  std::string ModelFile(const std::string& format = "espalier-model-1") const {
    storage::MemoryStore scratch;
    auto writer = scratch.Put("m");
    const format::Safetensors content{.tensors = {{"w", Tensor::FromVector(std::vector<float>(100, 1))}},
                                      .metadata = {{"format", format}}};
    EXPECT_TRUE(format::WriteSafetensors(content, **writer).ok() && (*writer)->Commit().ok());
    return *scratch.Get("m");
  }
  // Returns the error message for a model file with these bytes, or "" if it is accepted.
  std::string ErrorForModel(const std::string& bytes) {
    const std::string name = "m" + std::to_string(++num_models_);
    Put(name, bytes);
    job_.training.model.uri = "s3://bucket/" + name;
    const auto error = Find();
    if (!error.has_value()) return "";
    EXPECT_EQ(error->exit_code, ExitCode::kBadInput);
    EXPECT_THAT(error->status.message(), HasSubstr("spec.training.model.uri: s3://bucket/" + name + " "));
    return error->status.message();
  }

  std::shared_ptr<storage::MemoryStore> store_ = std::make_shared<storage::MemoryStore>();
  job::DistTraining job_;
  int num_models_ = 0;
};

const std::string kZip("PK\x03\x04", 4), kZipEnd("PK\x05\x06", 4);
const std::string kScript = kZip + "m/data.pkl m/code/__torch__.py m/constants.pkl" + kZipEnd;

TEST_F(StartFilesTest, AModuleIsATorchScriptArchive) {
  job_.training.model.type = job::ModelType::kTorchScript;
  EXPECT_EQ(ErrorForModel(kScript), "");
  EXPECT_THAT(ErrorForModel(kZip + "archive/data.pkl" + kZipEnd),
              AllOf(HasSubstr("is a file of torch.save"), HasSubstr("torch.jit.script(module).save(PATH)")));
  EXPECT_THAT(ErrorForModel("\x93NUMPY\x01 and more"), HasSubstr("is a .npy array: expected a TorchScript archive"));
  EXPECT_THAT(ErrorForModel(kScript.substr(0, 40)), HasSubstr("is a truncated zip archive"));
  EXPECT_THAT(ErrorForModel(""), HasSubstr("is not a TorchScript archive"));
  EXPECT_THAT(ErrorForModel(ModelFile()),
              HasSubstr("is a safetensors file: expected a TorchScript archive; a safetensors file has parameters"));
}

TEST_F(StartFilesTest, ModelMustBeCompleteFileOfRun) {
  EXPECT_EQ(ErrorForModel(ModelFile()), "");
  EXPECT_THAT(ErrorForModel(ModelFile("pt")), HasSubstr("is not an Espalier model file"));
  EXPECT_THAT(ErrorForModel(ModelFile().substr(0, ModelFile().size() - 1)),
              HasSubstr("the header describes 400 bytes of data, the file has 399"));
  EXPECT_THAT(ErrorForModel(ModelFile().substr(0, 20)), HasSubstr("the header length is"));
  EXPECT_THAT(ErrorForModel(kScript), HasSubstr("set spec.training.model.type to TorchScript"));
}

TEST_F(StartFilesTest, CheckpointMustHaveValidManifest) {
  Put("manifest.json", R"({"format": "espalier-checkpoint-1"})");
  job_.checkpoint.resume_from = "s3://bucket/checkpoints/000001-000000000042";
  const auto error = Find();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->exit_code, ExitCode::kBadInput);
  EXPECT_THAT(error->status.message(), HasSubstr("spec.checkpoint.resumeFrom: " + job_.checkpoint.resume_from + ": "));
  EXPECT_TRUE(Find({.local_files = true, .credentials = false}).has_value()) << "other credentials read the same bytes";
}

TEST_F(StartFilesTest, MissingFileIsBadInputAndUnknownStoreBadDocument) {
  job_.checkpoint.resume_from = "s3://bucket/checkpoints";
  auto error = Find();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->exit_code, ExitCode::kBadInput);
  EXPECT_THAT(error->status.message(), HasSubstr("spec.checkpoint.resumeFrom: no checkpoints in"));
  job_.checkpoint.resume_from = "s3://closed/checkpoints";
  error = Find();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->exit_code, ExitCode::kBadDocument);
  EXPECT_FALSE(Find({.local_files = true, .credentials = false}).has_value()) << "trainers may have credentials";
  job_.checkpoint.resume_from.clear();
  job_.output_nodes_uri = "/srv/chosen";
  EXPECT_TRUE(Find().has_value());
  EXPECT_FALSE(Find({.local_files = false, .credentials = true}).has_value());
}

}  // namespace
}  // namespace espalier::start_files
