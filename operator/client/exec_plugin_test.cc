// Tests when an exec plugin runs, how long its credentials are used, and its errors. The plugins are shell scripts.
#include "operator/client/exec_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <latch>
#include <thread>

#include "operator/client/exec_credential.h"
#include "services/base/testing/fake_clock.h"
#include "services/base/testing/soon.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::ctl::client {
namespace {

using std::chrono::seconds;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kVersion[] = "client.authentication.k8s.io/v1";

// Creates plugins as shell scripts. They print `status` as the status of a credential; $n in it is the number of the
// run.
class ExecPluginTest : public ::testing::Test {
 protected:
  ExecPluginOptions Options(const std::string& script) const {
    return {.api_version = kVersion,
            .command = "sh",
            .arguments = {"-c", "cd " + folder_.path() + "; echo run >> runs; n=$(wc -l < runs); " + script},
            .environment = {{"PATH", "/usr/bin:/bin"}}};
  }
  std::shared_ptr<CredentialsSource> Plugin(const std::string& status, const std::string& before = "") {
    return MakeExecPluginSource(
        Options(before + R"(
cat <<EOF
{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" +
                status + R"(}
EOF
)"),
        [this] { return now_.load(); }, clock_);
  }
  std::string Token(CredentialsSource& source) {
    const Result<Credentials> credentials = source.Get(Soon());
    return credentials.ok() ? credentials->bearer_token.Reveal() : credentials.status().ToString();
  }
  // Polls until the source returns the token. Returns false at the deadline.
  bool AwaitToken(CredentialsSource& source, const std::string& token) {
    while (Token(source) != token) {
      if (Soon().HasPassed()) return false;
      std::this_thread::yield();
    }
    return true;
  }
  bool AwaitFile(const std::string& name) const {
    while (!std::ifstream(folder_.path() + "/" + name)) {
      if (Soon().HasPassed()) return false;
      std::this_thread::yield();
    }
    return true;
  }
  int NumRuns() const {
    std::ifstream runs(folder_.path() + "/runs");
    int count = 0;
    for (std::string line; std::getline(runs, line);) ++count;
    return count;
  }
  void Touch(const std::string& name) const { std::ofstream(folder_.path() + "/" + name) << "x"; }
  void Pass(seconds time) {
    now_ = now_.load() + time;
    clock_.Advance(time);
  }

  storage::TemporaryFolder folder_;
  FakeClock clock_;
  // Atomic, because plugins read it on their own threads.
  std::atomic<kube::WallTime> now_ = *kube::ParseTime("2026-01-02T03:00:00Z");
};

TEST_F(ExecPluginTest, RunsOnceUntilCredentialExpires) {
  const auto plugin = Plugin(R"({"token":"t$n","expirationTimestamp":"2026-01-02T03:0$n:00Z"})");
  EXPECT_EQ(Token(*plugin), "t1");
  Pass(seconds(49));
  EXPECT_EQ(Token(*plugin), "t1");
  Pass(seconds(1));
  EXPECT_TRUE(AwaitToken(*plugin, "t2")) << "10 s before it expires";
  EXPECT_EQ(NumRuns(), 2);
}

TEST_F(ExecPluginTest, RunsOnceIfCredentialNeverExpires) {
  const auto plugin = Plugin(R"({"token":"t$n"})");
  EXPECT_EQ(Token(*plugin), "t1");
  Pass(seconds(1'000'000));
  EXPECT_EQ(Token(*plugin), "t1");
}

TEST_F(ExecPluginTest, RunsAgainAfterRejection) {
  const auto plugin = Plugin(R"({"token":"t$n"})");
  EXPECT_EQ(Token(*plugin), "t1");
  Pass(seconds(2));
  plugin->Reject();
  EXPECT_EQ(Token(*plugin), "t2");
  plugin->Reject();
  EXPECT_EQ(Token(*plugin), "t2") << "the rejection is of what was sent before";
}

TEST_F(ExecPluginTest, KeepsValidCredentialWhilePluginFails) {
  const auto plugin = Plugin(R"({"token":"t$n","expirationTimestamp":"2026-01-02T03:01:00Z"})",
                             "test -e broken && touch failed && exit 1;");
  EXPECT_EQ(Token(*plugin), "t1");
  Touch("broken");
  Pass(seconds(51));
  EXPECT_EQ(Token(*plugin), "t1");
  ASSERT_TRUE(AwaitFile("failed"));
  EXPECT_EQ(Token(*plugin), "t1");
  Pass(seconds(9));
  EXPECT_EQ(Token(*plugin), "UNAUTHENTICATED: exec plugin: running sh: exit code 1") << "now it has expired";
}

TEST_F(ExecPluginTest, DoesNotRunAgainAtOnceAfterAFailure) {
  const auto plugin = Plugin(R"({"token":"t$n"})", "exit 1;");
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Token(*plugin), HasSubstr("exit code 1"));
  EXPECT_EQ(NumRuns(), 1);
  Pass(seconds(5));
  EXPECT_THAT(Token(*plugin), HasSubstr("exit code 1"));
  EXPECT_EQ(NumRuns(), 2);
}

// For example, the renewal of a lease must not wait for a plugin that is slower than the lease's term.
TEST_F(ExecPluginTest, ReturnsValidCredentialDuringRenewal) {
  const auto plugin = Plugin(R"({"token":"t$n","expirationTimestamp":"2026-01-02T03:0$n:00Z"})",
                             "test $n = 1 || { touch started; while ! test -e go; do sleep 0.01; done; };");
  EXPECT_EQ(Token(*plugin), "t1");
  Pass(seconds(51));
  for (int i = 0; i < 3; ++i) {
    const Result<Credentials> credentials = plugin->Get(Deadline::After(seconds(0)));
    ASSERT_TRUE(credentials.ok()) << credentials.status().ToString();
    EXPECT_EQ(credentials->bearer_token.Reveal(), "t1");
    ASSERT_TRUE(AwaitFile("started"));
  }
  Touch("go");
  EXPECT_TRUE(AwaitToken(*plugin, "t2"));
  EXPECT_EQ(NumRuns(), 2);
}

TEST_F(ExecPluginTest, DestructorEndsRun) {
  auto plugin = Plugin(R"({"token":"t$n"})", "touch started; sleep 1000;");
  EXPECT_EQ(plugin->Get(Deadline::After(seconds(0))).status().code(), StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(AwaitFile("started"));
  plugin.reset();  // must not wait for the plugin
}

TEST_F(ExecPluginTest, DoesNotReuseRejectedCredential) {
  const auto plugin = Plugin(R"({"token":"t$n"})", "test -e broken && exit 1;");
  EXPECT_EQ(Token(*plugin), "t1");
  Touch("broken");
  Pass(seconds(2));
  plugin->Reject();
  EXPECT_THAT(Token(*plugin), HasSubstr("exit code 1"));
}

TEST_F(ExecPluginTest, ConcurrentCallersShareRun) {
  const auto plugin = Plugin(R"({"token":"t$n"})");
  std::vector<std::string> tokens(8);
  {
    std::latch together(8);
    std::vector<std::jthread> threads;
    for (std::string& token : tokens) {
      threads.emplace_back([&] {
        together.arrive_and_wait();
        token = Token(*plugin);
      });
    }
  }
  EXPECT_THAT(tokens, Each("t1"));
  EXPECT_EQ(NumRuns(), 1);
}

TEST_F(ExecPluginTest, EachCallerHasItsOwnDeadline) {
  const auto plugin = Plugin(R"({"token":"t$n"})", "touch started; while ! test -e go; do sleep 0.01; done;");
  std::jthread first([&] { EXPECT_EQ(Token(*plugin), "t1"); });
  ASSERT_TRUE(AwaitFile("started"));
  EXPECT_EQ(plugin->Get(Deadline::After(std::chrono::milliseconds(1))).status(),
            DeadlineExceeded("exec plugin sh: it is still running"));
  plugin->Reject();  // must not wait for the run
  Touch("go");
}

TEST_F(ExecPluginTest, KillsPluginAfterTimeout) {
  ExecPluginOptions options = Options("sleep 1000");
  options.timeout = std::chrono::milliseconds(50);
  EXPECT_EQ(Token(*MakeExecPluginSource(options)), "UNAUTHENTICATED: exec plugin: running sh: it did not end in time");
}

TEST_F(ExecPluginTest, TimeoutOfOneCallerDoesNotEndRun) {
  const auto plugin = Plugin(R"({"token":"t$n"})", "touch started; while ! test -e go; do sleep 0.01; done;");
  EXPECT_EQ(plugin->Get(Deadline::After(std::chrono::milliseconds(1))).status().code(), StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(AwaitFile("started"));
  Touch("go");
  EXPECT_EQ(Token(*plugin), "t1") << "the run continues";
}

TEST_F(ExecPluginTest, NamesInstallHintForMissingPlugin) {
  ExecPluginOptions options = Options("");
  options.command = "no-such-plugin";
  options.install_hint = "see https://plugin.test";
  EXPECT_EQ(Token(*MakeExecPluginSource(options)),
            "UNAUTHENTICATED: exec plugin: running no-such-plugin: not in PATH; see https://plugin.test");
}

TEST_F(ExecPluginTest, RefusesExpiredCredential) {
  EXPECT_EQ(Token(*Plugin(R"({"token":"t$n","expirationTimestamp":"2026-01-02T02:59:00Z"})")),
            "UNAUTHENTICATED: exec plugin sh: its credentials have expired already");
}

TEST_F(ExecPluginTest, DoesNotQuoteInvalidOutput) {
  EXPECT_EQ(Token(*MakeExecPluginSource(Options("echo hunter2"))),
            "UNAUTHENTICATED: exec plugin sh: its output is not an ExecCredential");
}

std::string ErrorOf(const std::string& output) {
  const Result<ExecCredential> credential = ParseExecCredential(output, kVersion);
  return credential.ok() ? "ok" : credential.status().message();
}

std::string WithStatus(const std::string& status) {
  return std::string(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":)") + status +
         "}";
}

TEST(ExecCredentialTest, ReadsYamlToo) {
  const Result<ExecCredential> credential = ParseExecCredential(
      "apiVersion: client.authentication.k8s.io/v1\nkind: ExecCredential\nstatus:\n  token: t0ken\n"
      "  expirationTimestamp: \"2026-01-02T03:04:05Z\"\n",
      kVersion);
  ASSERT_TRUE(credential.ok()) << credential.status().ToString();
  EXPECT_EQ(credential->credentials.bearer_token.Reveal(), "t0ken");
  EXPECT_EQ(credential->expires_at, *kube::ParseTime("2026-01-02T03:04:05Z"));
}

TEST(ExecCredentialTest, ErrorsDoNotQuoteInput) {
  EXPECT_EQ(ErrorOf(WithStatus(R"({"token":"t"})")), "ok");
  EXPECT_THAT(ErrorOf("{\"hunter2"), HasSubstr("its output: line 1"));
  EXPECT_EQ(ErrorOf(""), "its output is not an ExecCredential");
  EXPECT_EQ(ErrorOf(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"})"),
            "its output has another apiVersion than client.authentication.k8s.io/v1");
  EXPECT_EQ(ErrorOf(WithStatus("null")), "its output has no status");
  EXPECT_EQ(ErrorOf(WithStatus("{}")), "status has neither a token nor a certificate");
  EXPECT_EQ(ErrorOf(WithStatus(R"({"token":"hunter2\nX: y"})")),
            "status.token: the token contains white space, or characters that are not printable ASCII");
  EXPECT_EQ(ErrorOf(WithStatus(R"({"token":"t","clientKeyData":"hunter2"})")),
            "status has only one of clientCertificateData and clientKeyData");
  EXPECT_EQ(ErrorOf(WithStatus(R"({"clientCertificateData":"hunter2","clientKeyData":"hunter2"})")),
            "status.clientCertificateData and clientKeyData: no PEM certificate");
  EXPECT_EQ(ErrorOf(WithStatus(R"({"token":"t","expirationTimestamp":"soon"})")),
            "status.expirationTimestamp: not an RFC 3339 time");
}

}  // namespace
}  // namespace espalier::ctl::client
