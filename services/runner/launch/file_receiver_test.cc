#include "services/runner/launch/file_receiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "services/base/hash.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class FileReceiverTest : public testing::Test {
 protected:
  Message Announced(const std::string& text) const {
    return {
        {{"file", path_}, {"mode", 0644}, {"bytes", text.size()}, {"blocks", nlohmann::json::array({Hash64(text)})}}};
  }
  std::string Written() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const storage::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/deep/program";
};

TEST_F(FileReceiverTest, FileAppearsWhenComplete) {
  Result<FileReceiver> receiver = FileReceiver::Begin(Announced("abc"));
  ASSERT_TRUE(receiver.ok()) << receiver.status().ToString();
  EXPECT_THAT(receiver->wanted(), ElementsAre(0u));
  EXPECT_EQ(receiver->WriteBlock(0, "abd").code(), StatusCode::kDataLoss);
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_EQ(receiver->WriteBlock(0, "abc"), Status());
  ASSERT_EQ(receiver->Commit(), Status());
  EXPECT_EQ(Written(), "abc");
}

// Two launches copy different contents to the same path: the file has the content of one of them, never a mixture.
TEST_F(FileReceiverTest, ConcurrentCopiesDoNotMix) {
  Result<FileReceiver> first = FileReceiver::Begin(Announced("abc"));
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  const Status refused = FileReceiver::Begin(Announced("xyz"), std::chrono::seconds(0)).status();
  EXPECT_EQ(refused.code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(refused.message(), HasSubstr("another copy to " + path_ + " may be running"));
  ASSERT_EQ(first->WriteBlock(0, "abc"), Status());
  ASSERT_EQ(first->Commit(), Status());

  Result<FileReceiver> second = FileReceiver::Begin(Announced("xyz"), std::chrono::seconds(0));
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  ASSERT_EQ(second->WriteBlock(0, "xyz"), Status());
  EXPECT_EQ(Written(), "abc");
  ASSERT_EQ(second->Commit(), Status());
  EXPECT_EQ(Written(), "xyz");
}

TEST_F(FileReceiverTest, OnlyALockMeansAnotherCopy) {
  std::filesystem::create_directories(path_ + ".espalier-part");
  const Status refused = FileReceiver::Begin(Announced("abc"), std::chrono::seconds(0)).status();
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.message(), Not(HasSubstr("another copy")));
}

}  // namespace
}  // namespace espalier::launch
