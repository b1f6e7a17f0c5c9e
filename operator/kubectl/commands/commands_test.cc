#include "operator/kubectl/commands/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "operator/kubectl/commands/testing/plugin_world.h"
#include "services/base/base64.h"
#include "services/format/files/checksum.h"
#include "services/format/results/outputs_manifest.h"
#include "services/storage/file_store.h"
#include "services/storage/testing/put_text.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::ctl::kubectl {
namespace {

using kube::Json;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::PluginWorld;

const kube::ObjectKey kCora{"ml", "cora"};

TEST(StatusCommandTest, ShowsOneJobWithItsEvents) {
  PluginWorld world;
  world.Put(kube::kDistTrainings, view::testing::TrainingJobJson());
  world.Put(kube::kCoreEvents,
            view::testing::EventJson("a", "DistTraining", "cora", "Restarting", "trainer 1 ended", seconds(60)));
  world.Put(kube::kCoreEvents, view::testing::EventJson("b", "DistTraining", "other", "Else", "not ours", seconds(60)));
  EXPECT_EQ(*ShowStatus({.name = "cora"}, world.Context()), 0);
  EXPECT_THAT(world.output, AllOf(HasSubstr("epoch 4 of 10"), HasSubstr("s3://results/cora/cora-11111111"),
                                  HasSubstr("trainer 1 ended"), Not(HasSubstr("not ours"))));
  EXPECT_THAT(world.notes, IsEmpty());
}

TEST(StatusCommandTest, ListsJobsOfOneNamespaceOrAll) {
  PluginWorld world;
  Json other = view::testing::TrainingJobJson();
  other["metadata"]["namespace"] = "vision";
  other["metadata"]["name"] = "photo";
  world.Put(kube::kDistTrainings, view::testing::TrainingJobJson());
  world.Put(kube::kDistTrainings, other);
  EXPECT_EQ(*ShowStatus({}, world.Context()), 0);
  EXPECT_THAT(world.output, AllOf(HasSubstr("cora"), Not(HasSubstr("photo")), Not(HasSubstr("NAMESPACE"))));

  world.output.clear();
  EXPECT_EQ(*ShowStatus({.all_namespaces = true}, world.Context()), 0);
  EXPECT_THAT(world.output, AllOf(HasSubstr("NAMESPACE"), HasSubstr("vision"), HasSubstr("photo")));
}

TEST(StatusCommandTest, JsonIsParsable) {
  PluginWorld world;
  world.Put(kube::kDistTrainings, view::testing::FailedJobJson());
  EXPECT_EQ(*ShowStatus({.name = "cora", .as_json = true}, world.Context()), 0);
  EXPECT_EQ(kube::StringAt(*kube::ParseJson(world.output), {"status", "lastError", "reason"}), "OOMKilled");

  world.output.clear();
  EXPECT_EQ(*ShowStatus({.as_json = true}, world.Context()), 0);
  EXPECT_EQ(kube::ListAt(*kube::ParseJson(world.output), {"items"}).size(), 1u);
}

TEST(StatusCommandTest, ReportsMissingJob) {
  PluginWorld world;
  const Status status = ShowStatus({.name = "cora"}, world.Context()).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("no DistTraining cora in namespace ml"));
}

// Returns an on_pause callback that stores the next state of the job before each poll.
std::function<bool()> Then(PluginWorld& world, std::vector<Json> jobs) {
  auto next = std::make_shared<size_t>(0);
  return [&world, jobs = std::move(jobs), next] {
    if (*next < jobs.size()) world.Put(kube::kDistTrainings, jobs[(*next)++]);
    return true;
  };
}

TEST(WatchTest, EndsWithJobAndPrintsResult) {
  PluginWorld world;
  world.Put(kube::kDistTrainings, view::testing::TrainingJobJson());
  world.on_pause = Then(world, {view::testing::TrainingJobJson(), view::testing::SucceededJobJson()});
  EXPECT_EQ(*WatchStatus("cora", world.Context()), 0);
  EXPECT_THAT(world.notes, HasSubstr("outputs: s3://results/cora/cora-11111111"));
  // Without a terminal: one line for each change.
  EXPECT_EQ(std::count(world.output.begin(), world.output.end(), '\n'), 2) << world.output;
  EXPECT_THAT(world.output, AllOf(HasSubstr("2026-01-02T03:10:00Z  Training  42.5 %"), Not(HasSubstr("\033"))));

  PluginWorld failing;
  failing.Put(kube::kDistTrainings, view::testing::FailedJobJson());
  EXPECT_EQ(*WatchStatus("cora", failing.Context()), kJobHasFailed);
  EXPECT_THAT(failing.notes, HasSubstr("kubectl espalier describe cora -n ml"));
}

TEST(WatchTest, RedrawsOnTerminal) {
  PluginWorld world;
  world.is_terminal = true;
  world.Put(kube::kDistTrainings, view::testing::TrainingJobJson());
  world.on_pause = Then(world, {view::testing::SucceededJobJson()});
  EXPECT_EQ(*WatchStatus("cora", world.Context()), 0);
  EXPECT_THAT(world.output, AllOf(HasSubstr("[======"), HasSubstr("\033[5A")));
}

TEST(WatchTest, EndsOnStop) {
  PluginWorld world;
  world.Put(kube::kDistTrainings, view::testing::TrainingJobJson());
  world.on_pause = [] { return false; };
  EXPECT_EQ(WatchStatus("cora", world.Context()).status().code(), StatusCode::kCancelled);
}

TEST(WatchTest, ReportsDeletedAndRecreatedJob) {
  PluginWorld world;
  world.Put(kube::kDistTrainings, view::testing::TrainingJobJson());
  world.on_pause = [&] { return world.server.Remove(kube::kDistTrainings, kCora).ok(); };
  EXPECT_EQ(WatchStatus("cora", world.Context()).status().code(), StatusCode::kNotFound);

  Json another = view::testing::TrainingJobJson();
  another["metadata"]["uid"] = "another";
  world.Put(kube::kDistTrainings, view::testing::TrainingJobJson());
  world.on_pause = [&world, another] {
    return world.server.Remove(kube::kDistTrainings, kCora).ok() &&
           world.server.Put(kube::kDistTrainings, another).ok();
  };
  EXPECT_THAT(WatchStatus("cora", world.Context()).status().message(), HasSubstr("another job has the same name"));
}

TEST(WatchTest, ToleratesOutageOfFiveMinutes) {
  PluginWorld world;
  world.Put(kube::kDistTrainings, view::testing::TrainingJobJson());
  bool is_away = false;
  world.server.SetInterceptor([&](const kube::HttpRequest&, bool) -> std::optional<Result<client::HttpResponse>> {
    if (!is_away) return std::nullopt;
    return Result<client::HttpResponse>(Unavailable("connection refused"));
  });
  int num_pauses = 0;
  world.on_pause = [&] {
    is_away = ++num_pauses < 100;
    if (num_pauses == 100) world.Put(kube::kDistTrainings, view::testing::SucceededJobJson());
    return true;
  };
  EXPECT_EQ(*WatchStatus("cora", world.Context()), 0);
  EXPECT_THAT(world.notes, HasSubstr("retrying"));

  world.Put(kube::kDistTrainings, view::testing::TrainingJobJson());
  world.on_pause = [&] { return is_away = true; };
  EXPECT_EQ(WatchStatus("cora", world.Context()).status().code(), StatusCode::kUnavailable);
}

TEST(DescribeCommandTest, ShowsStatusEventsAndLogOfFailure) {
  PluginWorld world;
  world.Put(kube::kDistTrainings, view::testing::FailedJobJson());
  world.Put(kube::kPods, view::testing::OomKilledPodJson());
  world.transport.Write("cora-trainer-4-1-x7k2p", 1, "allocating 12 GiB");
  world.Put(kube::kCoreEvents,
            view::testing::EventJson("a", "Pod", "cora-trainer-4-1-x7k2p", "BackOff", "of ours", seconds(60)));
  world.Put(kube::kCoreEvents, view::testing::EventJson("b", "Pod", "stranger", "BackOff", "of others", seconds(60)));
  EXPECT_EQ(*Describe("cora", world.Context()), 0);
  EXPECT_THAT(world.output,
              AllOf(HasSubstr("BackoffLimitExceeded"), HasSubstr("137 (killed by signal 9 (SIGKILL))"),
                    HasSubstr("  | allocating 12 GiB\n"), HasSubstr("of ours"), Not(HasSubstr("of others")),
                    HasSubstr("Raise spec.trainers.resources.limits.memory")));
}

// An RBAC role may allow reading DistTrainings but not pods.
TEST(DescribeCommandTest, ShowsConditionsWithoutPermissionForPods) {
  PluginWorld world;
  world.Put(kube::kDistTrainings, view::testing::FailedJobJson());
  world.server.SetInterceptor(
      [](const kube::HttpRequest& request, bool is_done) -> std::optional<Result<client::HttpResponse>> {
        if (is_done || request.target.find("/pods") == std::string::npos) return std::nullopt;
        client::HttpResponse answer;
        answer.code = 403;
        answer.body = R"({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "pods is forbidden"})";
        return Result<client::HttpResponse>(answer);
      });
  EXPECT_EQ(*Describe("cora", world.Context()), 0);
  EXPECT_THAT(world.notes, HasSubstr("pods and logs are not shown: "));
  EXPECT_THAT(world.notes, HasSubstr("pods is forbidden"));
  EXPECT_THAT(world.output, AllOf(HasSubstr("BackoffLimitExceeded"), HasSubstr("cora-trainer-4-1-x7k2p"),
                                  HasSubstr("Raise spec.trainers.resources"), Not(HasSubstr("is gone"))));
}

TEST(SuspendCommandTest, WritesOnlySuspendField) {
  PluginWorld world;
  world.Put(kube::kDistTrainings, view::testing::TrainingJobJson());
  EXPECT_EQ(*SuspendOrResume(SuspendAction::kSuspend, "cora", world.Context()), 0);
  Json expected = view::testing::TrainingJobJson()["spec"];
  expected["runPolicy"]["suspend"] = true;
  EXPECT_EQ((*world.server.Find(kube::kDistTrainings, kCora))["spec"], expected);

  EXPECT_EQ(*SuspendOrResume(SuspendAction::kResume, "cora", world.Context()), 0);
  expected["runPolicy"]["suspend"] = false;
  EXPECT_EQ((*world.server.Find(kube::kDistTrainings, kCora))["spec"], expected);
}

TEST(SuspendCommandTest, RefusesEndedJob) {
  PluginWorld world;
  world.Put(kube::kDistTrainings, view::testing::SucceededJobJson());
  EXPECT_EQ(SuspendOrResume(SuspendAction::kSuspend, "cora", world.Context()).status().code(),
            StatusCode::kFailedPrecondition);
}

class FetchCommandTest : public ::testing::Test {
 protected:
  // Returns a job whose outputs are in a local folder.
  Json JobWithLocalOutputs(Json job) const {
    job["spec"]["output"]["uri"] = "file://" + folder_.path() + "/bucket";
    // The path must be under a volume mount of every role that opens it.
    for (const api::Role role : {api::Role::kPartitioner, api::Role::kServer, api::Role::kTrainer}) {
      const Json mount = {{"name", "v"}, {"mountPath", folder_.path()}};
      Json& pod = job["spec"][api::FieldName(role)]["template"]["spec"];
      pod["containers"] = Json::array({{{"name", api::ToString(role)}, {"volumeMounts", Json::array({mount})}}});
      pod["volumes"] = Json::array({{{"name", "v"}, {"emptyDir", Json::object()}}});
    }
    return job;
  }
  void CommitOutputs() const {
    storage::FileStore store(folder_.path() + "/bucket/cora-11111111");
    format::OutputsManifest manifest;
    manifest.incarnation = 1;
    manifest.result_json = "{}\n";
    format::HashingWriter writer(*store.Put("results/000001/metrics.jsonl"));
    ASSERT_TRUE(writer.Write(storage::BytesOf("{\"epoch\": 1}\n")).ok());
    ASSERT_TRUE(writer.Commit().ok());
    manifest.files.push_back({.file = writer.Entry("results/000001/metrics.jsonl"), .kind = "metrics"});
    ASSERT_TRUE(format::CommitOutputs(store, "", manifest).ok());
  }
  FetchFlags Flags() const {
    return {.name = "cora", .folder = folder_.path() + "/here", .as_json = true, .quiet = true};
  }

  storage::TemporaryFolder folder_;
  PluginWorld world_;
};

TEST_F(FetchCommandTest, CopiesOutputsOfJob) {
  CommitOutputs();
  world_.Put(kube::kDistTrainings, JobWithLocalOutputs(view::testing::SucceededJobJson()));
  const Result<int> fetched = Fetch(Flags(), world_.Context());
  ASSERT_TRUE(fetched.ok()) << fetched.status().ToString();
  EXPECT_EQ(kube::ListAt(*kube::ParseJson(world_.output), {"files"}), Json::array({"metrics.jsonl"}));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/here/metrics.jsonl"));
}

TEST_F(FetchCommandTest, ReportsNumberOfFiles) {
  CommitOutputs();
  world_.Put(kube::kDistTrainings, JobWithLocalOutputs(view::testing::SucceededJobJson()));
  FetchFlags flags = Flags();
  flags.as_json = false;
  ASSERT_TRUE(Fetch(flags, world_.Context()).ok());
  EXPECT_THAT(world_.output, HasSubstr("\n1 file with "));
}

TEST_F(FetchCommandTest, CopiesToLocalFolder) {
  CommitOutputs();
  world_.Put(kube::kDistTrainings, JobWithLocalOutputs(view::testing::SucceededJobJson()));
  FetchFlags flags = Flags();
  flags.folder = "s3://bucket/here";
  const Status refused = Fetch(flags, world_.Context()).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("--to: 's3://bucket/here' is in object storage: expected a local path"));
  flags.folder = "file://" + folder_.path() + "/there";
  EXPECT_TRUE(Fetch(flags, world_.Context()).ok());
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/there/metrics.jsonl"));
}

TEST_F(FetchCommandTest, ReportsRunningJob) {
  world_.Put(kube::kDistTrainings, JobWithLocalOutputs(view::testing::TrainingJobJson()));
  const Status status = Fetch(Flags(), world_.Context()).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("the job is Training"));
}

TEST_F(FetchCommandTest, ReadsCredentialsOnlyFromNamedSecret) {
  Json job = view::testing::SucceededJobJson();
  FetchFlags flags = Flags();
  flags.use_job_credentials = true;
  world_.Put(kube::kDistTrainings, job);
  EXPECT_THAT(Fetch(flags, world_.Context()).status().message(), HasSubstr("the job names no Secret"));

  job["spec"]["storage"]["s3"]["credentials"]["secretName"] = "cora-s3";
  world_.Put(kube::kDistTrainings, job);
  EXPECT_EQ(Fetch(flags, world_.Context()).status().code(), StatusCode::kNotFound);

  Json secret = {{"apiVersion", "v1"},
                 {"kind", "Secret"},
                 {"metadata", {{"name", "cora-s3"}, {"namespace", "ml"}}},
                 {"data", {{"AWS_ACCESS_KEY_ID", EncodeBase64("who")}}}};
  world_.Put(kube::kSecrets, secret);
  EXPECT_THAT(Fetch(flags, world_.Context()).status().message(), HasSubstr("Secret ml/cora-s3 lacks"));

  secret["data"]["AWS_SECRET_ACCESS_KEY"] = "hidden: words";
  world_.Put(kube::kSecrets, secret);
  const std::string message = Fetch(flags, world_.Context()).status().message();
  EXPECT_THAT(message, AllOf(HasSubstr("AWS_SECRET_ACCESS_KEY is not valid base64"), Not(HasSubstr("hidden"))));
}

}  // namespace
}  // namespace espalier::ctl::kubectl
