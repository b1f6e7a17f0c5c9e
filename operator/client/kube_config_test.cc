// Tests the loading of kubeconfig files: valid and invalid files of a corpus, merging of several files, and overrides.
#include "operator/client/kube_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "services/base/testing/soon.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::ctl::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kCorpus = std::string(ESPALIER_SOURCE_DIR) + "/operator/client/testdata/kube_config/";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Returns a connection as one line: "https api.test 6443 token certificate".
std::string Describe(const Connection& connection) {
  std::string text =
      std::string(connection.tls ? "https " : "http ") + connection.host + " " + std::to_string(connection.port);
  const Result<Credentials> credentials = connection.credentials->Get(Soon());
  if (!credentials.ok()) return credentials.status().ToString();
  if (!credentials->bearer_token.empty()) text += " token";
  if (!credentials->client_certificate_pem.empty()) text += " certificate";
  if (!connection.ca_file.empty()) text += " ca_file=" + connection.ca_file;
  if (!connection.ca_pem.empty()) text += " ca_pem";
  if (connection.skip_verification) text += " insecure";
  if (!connection.base_path.empty()) text += " base=" + connection.base_path;
  if (!connection.server_name.empty()) text += " server_name=" + connection.server_name;
  if (!connection.proxy_url.empty()) text += " proxy";
  if (!connection.name_space.empty()) text += " namespace=" + connection.name_space;
  if (!connection.impersonate_user.empty()) text += " as=" + connection.impersonate_user;
  if (!connection.impersonate_uid.empty()) text += " uid=" + connection.impersonate_uid;
  for (size_t i = 0; i < connection.impersonate_groups.size(); ++i) {
    text += (i == 0 ? " groups=" : ",") + connection.impersonate_groups[i];
  }
  return text;
}

// A file of the corpus. Its first line has the expected result.
struct CorpusFile {
  std::string path;
  std::string folder;
  std::string expected;
};

std::vector<CorpusFile> Corpus(const std::string& folder) {
  std::vector<CorpusFile> files;
  for (const auto& entry : std::filesystem::directory_iterator(kCorpus + folder)) {
    std::string line;
    std::getline(std::ifstream(entry.path()) >> std::ws, line);
    files.push_back({entry.path(), kCorpus + folder, line.substr(std::min<size_t>(2, line.size()))});
  }
  std::sort(files.begin(), files.end(), [](const CorpusFile& a, const CorpusFile& b) { return a.path < b.path; });
  return files;
}

std::string Described(const CorpusFile& file) {
  const Result<Connection> connection =
      LoadKubeConfig({.paths = {file.path}, .context = "", .environment = {{"PATH", "/usr/bin:/bin"}}});
  std::string text = connection.ok() ? Describe(*connection) : connection.status().ToString();
  return Replaced(Replaced(std::move(text), file.path, "$FILE"), file.folder, "$DIR");
}

TEST(KubeConfigTest, AcceptsTheFilesOfTheCorpus) {
  const std::vector<CorpusFile> files = Corpus("accepted");
  ASSERT_GE(files.size(), 15u);
  for (const CorpusFile& file : files) EXPECT_EQ(Described(file), file.expected) << file.path;
}

TEST(KubeConfigTest, RefusesBadFilesOfCorpusWithoutQuotingSecrets) {
  const std::vector<CorpusFile> files = Corpus("refused");
  ASSERT_GE(files.size(), 40u);
  for (const CorpusFile& file : files) {
    EXPECT_EQ(Described(file), file.expected) << file.path;
    EXPECT_THAT(Described(file), Not(HasSubstr("hunter2"))) << file.path;
  }
}

class KubeConfigMergeTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }
  std::string Load(const std::vector<std::string>& paths, const std::string& context = "") {
    const Result<Connection> connection = LoadKubeConfig({.paths = paths, .context = context, .environment = {}});
    const std::string text = connection.ok() ? Describe(*connection) : connection.status().ToString();
    return Replaced(text, folder_.path(), "$DIR");
  }
  storage::TemporaryFolder folder_;
};

constexpr char kFirst[] = R"(
current-context: a
clusters: [{name: shared, cluster: {server: "https://first.test"}}]
contexts: [{name: a, context: {cluster: shared, user: u}}, {name: b, context: {cluster: later, user: u}}]
)";
constexpr char kSecond[] = R"(
current-context: b
clusters: [{name: shared, cluster: {server: "https://second.test", tls-server-name: x}},
           {name: later, cluster: {server: "https://later.test"}}]
users: [{name: u, user: {tokenFile: token}}]
contexts: [{name: a, context: {cluster: later}}]
)";

// The same as with the flags of kubectl.
TEST_F(KubeConfigMergeTest, FlagsOverrideFiles) {
  Write("two/token", "t0ken\n");
  const std::string first = Write("one/config", kFirst);
  const std::string second = Write("two/config", kSecond);
  const auto load = [&](const std::vector<std::string>& paths, KubeOverrides overrides) {
    const Result<Connection> connection =
        LoadKubeConfig({.paths = paths, .context = "", .environment = {}, .overrides = std::move(overrides)});
    return connection.ok() ? Describe(*connection) : connection.status().ToString();
  };
  const std::vector<std::string> both = {first, second};
  EXPECT_EQ(load(both, {.cluster = "later"}), "https later.test 443 token");
  EXPECT_THAT(load(both, {.user = "nobody"}), HasSubstr("there is no user 'nobody'"));
  EXPECT_EQ(load(both, {.server = "https://other.test:7"}), "https other.test 7 token");
  EXPECT_EQ(load(both, {.tls_server_name = "y", .skip_verification = true}),
            "https first.test 443 token insecure server_name=y");
  EXPECT_EQ(load(both, {.as = "jane", .as_uid = "7", .as_groups = {"a", "b"}}),
            "https first.test 443 token as=jane uid=7 groups=a,b");
  EXPECT_THAT(load(both, {.as_groups = {"a"}}), HasSubstr("'as-groups' or 'as-uid' is set without 'as'"));
  // Without a file, a server and a token suffice.
  const std::string missing = folder_.path() + "/missing";
  EXPECT_EQ(load({missing}, {.server = "https://other.test", .token = "t"}), "https other.test 443 token");
  EXPECT_THAT(load({missing}, {.token = "t"}), HasSubstr("no kubeconfig"));
  // A file that was named explicitly must exist.
  const Result<Connection> chosen =
      LoadKubeConfig({.paths = {missing}, .paths_are_chosen = true, .overrides = {.server = "https://other.test"}});
  EXPECT_EQ(chosen.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(chosen.status().message(), HasSubstr("there is no " + missing));
}

TEST(KubeOverridesTest, RecognizesFlagsThatChooseClusterOrUser) {
  for (const KubeOverrides& overrides : std::vector<KubeOverrides>{{.cluster = "c"},
                                                                   {.user = "u"},
                                                                   {.server = "https://other.test"},
                                                                   {.ca_file = "ca.crt"},
                                                                   {.tls_server_name = "y"},
                                                                   {.skip_verification = true},
                                                                   {.token = "t"}}) {
    EXPECT_TRUE(overrides.chooses_a_cluster_or_user());
  }
  EXPECT_FALSE(KubeOverrides{}.chooses_a_cluster_or_user());
  EXPECT_FALSE((KubeOverrides{.as = "jane", .as_uid = "7", .as_groups = {"a"}}).chooses_a_cluster_or_user());
}

TEST_F(KubeConfigMergeTest, FirstFileWins) {
  Write("two/token", "t0ken\n");
  const std::string first = Write("one/config", kFirst);
  const std::string second = Write("two/config", kSecond);
  EXPECT_EQ(Load({first, second}), "https first.test 443 token") << "paths are relative to the file that has them";
  EXPECT_EQ(Load({first, second}, "b"), "https later.test 443 token");
  EXPECT_EQ(Load({second, first}), "https later.test 443 token");
  EXPECT_EQ(Load({second, first}, "a"), "https later.test 443");
}

TEST_F(KubeConfigMergeTest, SkipsMissingFiles) {
  const std::string second = Write("config", kSecond);
  const std::string missing = folder_.path() + "/missing";
  EXPECT_EQ(Load({missing, second}, "a"), "https later.test 443");
  EXPECT_EQ(Load({missing, missing + "2"}), "NOT_FOUND: no kubeconfig: there is no $DIR/missing, $DIR/missing2");
  EXPECT_EQ(Load({}), "NOT_FOUND: no kubeconfig: no path is given");
}

TEST_F(KubeConfigMergeTest, UnreadableFileIsError) {
  const std::string second = Write("config", kSecond);
  EXPECT_EQ(Load({folder_.path(), second}, "a"), "INVALID_ARGUMENT: $DIR is a folder: expected a file");
  EXPECT_THAT(Load({Write("long", std::string((4 << 20) + 1, '#')), second}, "a"),
              HasSubstr("is longer than 4194304 bytes"));
}

TEST_F(KubeConfigMergeTest, ProvidesClusterInfoToPlugins) {
  const std::string path = Write("config", R"(
current-context: a
clusters:
- name: c
  cluster:
    server: https://api.test:6443
    tls-server-name: api.internal
    extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: me}}]
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: sh
      args: [-c, 'echo "$KUBERNETES_EXEC_INFO" > "$OUT"; exit 3']
      env: [{name: OUT, value: )" + folder_.path() +
                                               R"(/info}]
      provideClusterInfo: true
contexts: [{name: a, context: {cluster: c, user: u}}]
)");
  const Result<Connection> connection =
      LoadKubeConfig({.paths = {path}, .context = "", .environment = {{"PATH", "/usr/bin:/bin"}}});
  ASSERT_TRUE(connection.ok()) << connection.status().ToString();
  EXPECT_EQ(connection->credentials->Get(Soon()).status(),
            Status(StatusCode::kUnauthenticated, "exec plugin: running sh: exit code 3"));
  std::string info;
  std::getline(std::ifstream(folder_.path() + "/info"), info);
  EXPECT_EQ(info, R"({"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","spec":{"cluster":)"
                  R"({"config":{"audience":"me"},"server":"https://api.test:6443","tls-server-name":"api.internal"},)"
                  R"("interactive":false}})");
}

TEST(KubeConfigPathsTest, ComeFromFlagVariableOrHome) {
  const std::map<std::string, std::string> environment = {{"KUBECONFIG", "/a::/b:"}, {"HOME", "/home/jane"}};
  EXPECT_THAT(FindKubeConfigPaths("/flag", environment), ElementsAre("/flag"));
  EXPECT_THAT(FindKubeConfigPaths("", environment), ElementsAre("/a", "/b"));
  EXPECT_THAT(FindKubeConfigPaths("", {{"HOME", "/home/jane"}}), ElementsAre("/home/jane/.kube/config"));
  EXPECT_THAT(FindKubeConfigPaths("", {}), IsEmpty());
}

}  // namespace
}  // namespace espalier::ctl::client
