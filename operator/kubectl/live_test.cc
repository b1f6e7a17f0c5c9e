// Tests the program as users run it, also through kubectl, on a real API server. (It has no kubelets: logs are tested
// with a fake, and in e2e.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "operator/client/cpprest/cpprest_transport.h"
#include "operator/client/testing/real_api_server.h"
#include "operator/client/yaml_json.h"
#include "operator/kube/condition.h"
#include "operator/schema/testing/documents.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::ctl {
namespace {

using kube::Json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kNamespace[] = "default";

struct Ended {
  int code = -1;
  std::string output;
  std::string error;
};

// An API server that all tests of the process share.
class LiveServer {
 public:
  static Result<std::unique_ptr<LiveServer>> Start() {
    auto live = std::make_unique<LiveServer>();
    ASSIGN_OR_RETURN(live->server_, client::RealApiServer::Start());
    static const Status initialized = client::InitializeCpprest();
    RETURN_IF_ERROR(initialized);
    ASSIGN_OR_RETURN(live->transport_, client::MakeCpprestTransport(live->server_->AdminConnection(), {}));
    std::ofstream(live->folder_.path() + "/admin") << live->server_->KubeConfigOf("admin", {"system:masters"});
    std::ofstream(live->folder_.path() + "/nobody") << live->server_->KubeConfigOf("nobody", {});
    RETURN_IF_ERROR(live->Install());
    return live;
  }

  Json Send(kube::HttpRequest request) {
    const Result<client::HttpResponse> response = transport_->Send(request, Deadline::After(std::chrono::seconds(30)));
    if (!response.ok()) return {{"message", response.status().ToString()}};
    Result<Json> body = kube::ParseJson(response->body);
    return body.ok() ? *std::move(body) : Json{{"message", response->body}};
  }

  // Runs `kubectl espalier <arguments>` as `user`.
  Ended Kubectl(const std::string& arguments, const std::string& user = "admin") const {
    const std::string error_file = folder_.path() + "/stderr";
    const std::string command = "PATH='" ESPALIER_BINARY_FOLDER "':\"$PATH\" KUBECONFIG='" + folder_.path() + "/" +
                                user + "' '" + client::RealApiServer::Tools() + "/kubectl' espalier " + arguments +
                                " 2>'" + error_file + "' </dev/null";
    std::FILE* pipe = popen(command.c_str(), "r");
    Ended ended;
    std::array<char, 4096> buffer;
    for (size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
      ended.output.append(buffer.data(), n);
    }
    const int state = pclose(pipe);
    ended.code = WIFEXITED(state) ? WEXITSTATUS(state) : 1000 + WTERMSIG(state);
    std::ifstream error(error_file);
    ended.error = {std::istreambuf_iterator<char>(error), {}};
    return ended;
  }

 private:
  Status Install() {
    ASSIGN_OR_RETURN(const Json definition, client::ParseYamlOrJson(schema::ReadFileOrFail("crds/disttrainings.yaml")));
    Send(kube::CreateRequest(kube::kCustomResourceDefinitions, definition, "test"));
    const Deadline deadline = Deadline::After(std::chrono::seconds(60));
    while (kube::StringAt(Send(kube::ListRequest(kube::kDistTrainings, {})), {"kind"}) != "DistTrainingList") {
      if (deadline.HasPassed()) return DeadlineExceeded("DistTrainings are not served");
      Clock::Real().SleepFor(std::chrono::milliseconds(50));  // between polls of another process
    }
    return {};
  }

  std::unique_ptr<client::RealApiServer> server_;
  std::unique_ptr<client::HttpTransport> transport_;
  storage::TemporaryFolder folder_;
};

class KubectlLiveTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<std::unique_ptr<LiveServer>> started = LiveServer::Start();
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    live_ = started->release();
  }
  static void TearDownTestSuite() {
    delete live_;
    live_ = nullptr;
  }

  static void CreateJob(const std::string& name) {
    const Result<Json> document = client::ParseYamlOrJson(schema::ReadFileOrFail("crds/examples/minimal.yaml"));
    ASSERT_TRUE(document.ok());
    Json job = *document;
    job["metadata"]["name"] = name;
    job["metadata"]["namespace"] = kNamespace;
    const Json created = live_->Send(kube::CreateRequest(kube::kDistTrainings, job, "test"));
    ASSERT_EQ(kube::StringAt(created, {"kind"}), "DistTraining") << created;
  }
  static void SetStatus(const std::string& name, const Json& status) {
    const Json answer = live_->Send(
        kube::MergePatchRequest(kube::kDistTrainings, {kNamespace, name}, {{"status", status}}, "test", "status"));
    ASSERT_EQ(kube::StringAt(answer, {"kind"}), "DistTraining") << answer;
  }
  static Json ConditionOf(const std::string& type, const std::string& reason, const std::string& message) {
    return {{"type", type},       {"status", "True"},        {"reason", reason},
            {"message", message}, {"observedGeneration", 1}, {"lastTransitionTime", "2026-01-02T03:04:05Z"}};
  }

  static inline LiveServer* live_ = nullptr;
};

TEST_F(KubectlLiveTest, ShowsJobsOfServer) {
  CreateJob("shown");
  SetStatus("shown", {{"phase", "Training"}, {"progress", {{"epoch", 3}, {"percent", 30}}}});
  const Ended table = live_->Kubectl("status");
  EXPECT_EQ(table.code, 0) << table.error;
  EXPECT_THAT(table.output, AllOf(HasSubstr("NAME"), HasSubstr("shown   Training")));
  const Ended one = live_->Kubectl("status shown -o json -n default");
  EXPECT_EQ(one.code, 0) << one.error;
  EXPECT_EQ(kube::IntegerAt(*kube::ParseJson(one.output), {"status", "progress", "epoch"}), 3);
  EXPECT_THAT(live_->Kubectl("status shown").output, HasSubstr("epoch 3"));
}

TEST_F(KubectlLiveTest, WatchesUntilTheJobHasEnded) {
  CreateJob("watched");
  SetStatus("watched",
            {{"phase", "Succeeded"},
             {"conditions", Json::array({ConditionOf("Succeeded", "Completed", "all trainers have ended")})}});
  EXPECT_EQ(live_->Kubectl("status watched --watch").code, 0);
  CreateJob("failing");
  SetStatus("failing", {{"phase", "Failed"},
                        {"conditions", Json::array({ConditionOf("Failed", "BadInput", "edge 7 names node 99")})}});
  const Ended failing = live_->Kubectl("status failing --watch");
  EXPECT_EQ(failing.code, 1);
  EXPECT_THAT(failing.output, HasSubstr("edge 7 names node 99"));
}

TEST_F(KubectlLiveTest, DescribesAFailureWithWarningsOfTheServer) {
  CreateJob("described");
  SetStatus("described", {{"phase", "Failed"},
                          {"conditions", Json::array({ConditionOf("Failed", "BadInput", "edge 7 names node 99")})}});
  const Json event = {{"apiVersion", "events.k8s.io/v1"},
                      {"kind", "Event"},
                      {"metadata", {{"name", "described.1"}, {"namespace", kNamespace}}},
                      {"eventTime", "2096-01-02T03:04:05.000000Z"},
                      {"reportingController", "espalier.io/operator"},
                      {"reportingInstance", "test"},
                      {"action", "Reconcile"},
                      {"reason", "FailedCreate"},
                      {"type", "Warning"},
                      {"note", "exceeded quota"},
                      {"regarding",
                       {{"apiVersion", "espalier.io/v1alpha1"},
                        {"kind", "DistTraining"},
                        {"name", "described"},
                        {"namespace", kNamespace}}}};
  const Json created = live_->Send(kube::CreateRequest(kube::kEvents, event, "test"));
  ASSERT_EQ(kube::StringAt(created, {"kind"}), "Event") << created;
  const Ended described = live_->Kubectl("describe described");
  EXPECT_EQ(described.code, 0) << described.error;
  EXPECT_THAT(described.output, AllOf(HasSubstr("edge 7 names node 99"), HasSubstr("exceeded quota"),
                                      HasSubstr("Correct the graph, partitions or model")));
}

TEST_F(KubectlLiveTest, SuspendsAndResumes) {
  CreateJob("held");
  const auto is_suspended = [&] {
    return kube::BoolAt(live_->Send(kube::GetRequest(kube::kDistTrainings, {kNamespace, "held"})),
                        {"spec", "runPolicy", "suspend"});
  };
  const Ended suspended = live_->Kubectl("suspend held");
  EXPECT_EQ(suspended.code, 0) << suspended.error;
  EXPECT_TRUE(is_suspended());
  EXPECT_EQ(live_->Kubectl("resume held").code, 0);
  EXPECT_FALSE(is_suspended());
}

TEST_F(KubectlLiveTest, AcceptsFlagsOfKubectl) {
  CreateJob("flagged");
  const Ended refused = live_->Kubectl("status flagged --as jane");
  EXPECT_EQ(refused.code, 77);
  EXPECT_THAT(refused.error, HasSubstr("jane"));
  EXPECT_EQ(live_->Kubectl("status flagged --as jane --as-group others --as-group system:masters").code, 0);
  EXPECT_EQ(live_->Kubectl("status flagged --as-group system:masters").code, 65);
  EXPECT_EQ(live_->Kubectl("status flagged --request-timeout 20s").code, 0);
  const Ended no_time = live_->Kubectl("status flagged --request-timeout soon");
  EXPECT_EQ(no_time.code, 64);
  EXPECT_THAT(no_time.error, HasSubstr("expected a time such as 30, 10s or 1m30s"));
  EXPECT_EQ(live_->Kubectl("status flagged --server https://127.0.0.1:1").code, 74);
  EXPECT_EQ(live_->Kubectl("status flagged --context nowhere").code, 65);
  EXPECT_EQ(live_->Kubectl("status flagged --user nobody").code, 65);
}

TEST_F(KubectlLiveTest, ReportsErrors) {
  const Ended none = live_->Kubectl("status nowhere");
  EXPECT_EQ(none.code, 65);
  EXPECT_THAT(none.error, HasSubstr("no DistTraining nowhere in namespace default"));
  EXPECT_EQ(live_->Kubectl("status cora", "nobody").code, 77);
  const Ended unknown = live_->Kubectl("statsu cora");
  EXPECT_EQ(unknown.code, 64);
  EXPECT_THAT(unknown.error, HasSubstr("there is no command 'statsu' (did you mean 'status'?)"));
  EXPECT_EQ(live_->Kubectl("logs cora --role boss").code, 64);
  CreateJob("silent");
  EXPECT_EQ(live_->Kubectl("logs silent").code, 65);  // it has no pods
  EXPECT_EQ(live_->Kubectl("status --help").code, 0);
}

}  // namespace
}  // namespace espalier::ctl
