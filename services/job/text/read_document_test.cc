#include "services/job/text/read_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace espalier::job {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ReadDocumentTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string path_ = ::testing::TempDir() + "/espalier-document-" + std::to_string(getpid());
};

TEST_F(ReadDocumentTest, ReadsAFile) {
  std::ofstream(path_, std::ios::binary) << "kind: DistTraining\n";
  const Result<std::string> text = ReadDocument(path_);
  ASSERT_TRUE(text.ok()) << text.status().ToString();
  EXPECT_EQ(*text, "kind: DistTraining\n");
}

TEST_F(ReadDocumentTest, RefusesInvalidDocuments) {
  const Status missing = ReadDocument(path_).status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), "reading the job document: opening " + path_ + ": No such file or directory");

  EXPECT_THAT(ReadDocument(::testing::TempDir()).status().message(), HasSubstr("is a folder"));

  std::ofstream(path_, std::ios::binary) << "#";
  std::filesystem::resize_file(path_, (4 << 20) + 1);
  EXPECT_THAT(ReadDocument(path_).status().message(), HasSubstr(path_ + " is longer than 4194304 bytes"));
}

TEST(ParseSettingsTest, TheFirstEqualsSignSeparates) {
  const auto overrides = ParseSettings({"training.epochs=3", "s3.region=", "a=b=c"});
  ASSERT_TRUE(overrides.ok()) << overrides.status().ToString();
  EXPECT_THAT(*overrides, ElementsAre(Pair("training.epochs", "3"), Pair("s3.region", ""), Pair("a", "b=c")));
}

TEST(ParseSettingsTest, NeedsAPath) {
  for (const char* setting : {"", "training.epochs", "=3"}) {
    const Status status = ParseSettings({setting}).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << setting;
    EXPECT_THAT(status.message(), HasSubstr(std::string("--set ") + setting + ": expected path=value"));
  }
}

}  // namespace
}  // namespace espalier::job
