// Tests `espalier fetch-script` as a pod's init container runs it: the exit codes and termination messages on which the
// operator acts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "services/base/sha256.h"
#include "services/cli/testing/cli_fixture.h"

namespace espalier::cli {
namespace {

using testing::HasSubstr;

constexpr char kScript[] = "print('hello')\n";

class FetchScriptCommandTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    std::ofstream(root_ / "train.py") << kScript;
    setenv("ESPALIER_TERMINATION_LOG", (root_ / "termination").c_str(), 1);
  }
  void TearDown() override {
    unsetenv("ESPALIER_TERMINATION_LOG");
    CliTest::TearDown();
  }
  // Returns the digest in the termination message; null if there is none.
  nlohmann::json DigestInTerminationMessage() const {
    const auto words = nlohmann::json::parse(ReadText(root_ / "termination"));
    return words.contains("script") ? words["script"]["sha256"] : nlohmann::json();
  }

  const std::string digest_ = Sha256Hex(kScript);
  const std::string other_ = std::string(64, 'a');
};

TEST_F(FetchScriptCommandTest, ReportsDigestOfScript) {
  const Ended first = Espalier("fetch-script train.py --folder script");
  EXPECT_EQ(first.code, 0) << first.error;
  EXPECT_EQ(first.output, digest_ + "\n");
  EXPECT_EQ(DigestInTerminationMessage(), digest_);
  EXPECT_EQ(ReadText(root_ / "script/train.py"), kScript);
  EXPECT_EQ(Espalier("fetch-script train.py --folder script --sha256 " + digest_).code, 0);
}

TEST_F(FetchScriptCommandTest, ChangedScriptIsTransientError) {
  const Ended changed =
      Espalier("fetch-script train.py --folder script --shown-as s3://code/train.py --sha256 " + other_);
  EXPECT_EQ(changed.code, 74);
  EXPECT_THAT(changed.error, HasSubstr("s3://code/train.py has SHA-256 " + digest_));
  EXPECT_THAT(changed.error, HasSubstr(other_));
  EXPECT_EQ(DigestInTerminationMessage(), digest_);
  EXPECT_FALSE(std::filesystem::exists(root_ / "script/train.py"));

  std::ofstream(root_ / "empty.py").flush();
  for (const std::string name : {"absent.py", "empty.py"}) {
    EXPECT_EQ(Espalier("fetch-script " + name + " --folder script --sha256 " + other_).code, 74);
    EXPECT_EQ(DigestInTerminationMessage(), nullptr);
  }
}

TEST_F(FetchScriptCommandTest, InvalidScriptIsBadInput) {
  std::ofstream(root_ / "empty.py").flush();
  for (const std::string name : {"absent.py", "empty.py"}) {
    EXPECT_EQ(Espalier("fetch-script " + name + " --folder script").code, 65);
  }
  EXPECT_EQ(Espalier("fetch-script train.py --folder script --entrypoint a.py").code, 65);  // not an archive
  EXPECT_EQ(DigestInTerminationMessage(), nullptr);
}

}  // namespace
}  // namespace espalier::cli
