// Tests of launches whose document names a script.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/sha256.h"
#include "services/runner/launch/launch.h"
#include "services/runner/launch/testing/fake_host.h"

namespace espalier::launch {
namespace {

class LaunchScriptTest : public FakeHostTest {
 protected:
  // `script` is the value of spec.trainers.program.script.
  run::RunOutcome LaunchWith(const std::string& script) const {
    LaunchOptions options = Options();
    options.fleet.workspace = root_ / "work";
    options.run.settings.push_back("trainers.program={command: [sh], args: [two words], script: " + script + "}");
    return LaunchQuietly(options);
  }
};

TEST_F(LaunchScriptTest, CopiesScriptToWorkspaces) {
  Write("train.sh", "(pwd; echo \"$0 $1\") > told.$ESPALIER_RANK\n");
  const run::RunOutcome outcome = LaunchWith("{uri: " + (root_ / "train.sh").string() + "}");
  ASSERT_EQ(outcome.code, ExitCode::kDone) << outcome.error;
  const std::string folder = "script-" + Sha256Hex(Read("train.sh")).substr(0, 16);
  EXPECT_EQ(Read("work/told.1"), (root_ / "work").string() + "\n" + folder + "/train.sh two words\n");
  EXPECT_EQ(Read("work/" + folder + "/train.sh"), Read("train.sh"));
}

TEST_F(LaunchScriptTest, AnotherDigestAndAConfigMapAreRefused) {
  Write("train.sh", "true\n");
  const run::RunOutcome changed =
      LaunchWith("{uri: " + (root_ / "train.sh").string() + ", sha256: " + std::string(64, 'a') + "}");
  EXPECT_EQ(changed.code, ExitCode::kBadInput);
  EXPECT_THAT(changed.error, testing::HasSubstr("but the job expects " + std::string(64, 'a')));

  const run::RunOutcome config_map = LaunchWith("{configMapKeyRef: {name: code, key: train.sh}}");
  EXPECT_EQ(config_map.code, ExitCode::kBadDocument);
  EXPECT_THAT(config_map.error, testing::HasSubstr("only a cluster has ConfigMaps"));
}

}  // namespace
}  // namespace espalier::launch
