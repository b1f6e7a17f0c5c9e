// Tests which changes of a DistTraining the real API server allows, and when; its status and its scale.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/api/testing/full_status.h"
#include "operator/tests/crd_server.h"

namespace espalier::ctl {
namespace {

using kube::Json;
using testing::AllOf;
using testing::HasSubstr;

class CrdUpdatesLiveTest : public testing::Test {
 protected:
  void SetUp() override {
    server_ = SharedCrdServer();
    ASSERT_NE(server_, nullptr);
    name_ = "updated-" + std::to_string(++jobs_);
    const CrdServer::Answer created = server_->Create(MinimalJob(name_));
    ASSERT_EQ(created.code, 201) << created.message();
  }

  void Accept() {
    api::Status status;
    api::SetCondition(&status, {api::kAccepted, api::ConditionStatus::kTrue, "Valid", ""}, api::At(0));
    const CrdServer::Answer answer = server_->ApplyStatus(name_, api::ToJson(status), "espalier-operator");
    ASSERT_EQ(answer.code, 200) << answer.message();
  }

  // {"spec": {"trainers": {"replicas": 2}}} from R"({"trainers": {"replicas": 2}})".
  CrdServer::Answer PatchSpec(const char* spec) { return server_->Patch(name_, {{"spec", *kube::ParseJson(spec)}}); }
  void ExpectTaken(const char* spec) {
    const CrdServer::Answer answer = PatchSpec(spec);
    EXPECT_EQ(answer.code, 200) << spec << ": " << answer.message();
  }
  void ExpectRefused(const char* spec, const char* path, const char* words) {
    const CrdServer::Answer answer = PatchSpec(spec);
    EXPECT_EQ(answer.code, 422) << spec;
    EXPECT_THAT(answer.message(), AllOf(HasSubstr(path), HasSubstr(words))) << spec;
  }

  CrdServer* server_ = nullptr;
  std::string name_;

 private:
  static inline int jobs_ = 0;
};

TEST_F(CrdUpdatesLiveTest, UnacceptedJobMayChange) {
  ExpectTaken(R"({"graph": {"source": {"uri": "s3://graphs/other"}}, "training": {"epochs": 3}})");
  ExpectTaken(R"({"servers": {"cacheMedium": "Memory"}, "tls": {"mode": "Disabled"}})");
}

// A validation rule that fails with an error refuses every later write, including the operator's: here for a job that
// omits every optional field.
TEST_F(CrdUpdatesLiveTest, StatusOfAcceptedJobMayChange) {
  ASSERT_FALSE(server_->Get(name_).body["spec"]["partitioner"].contains("image"));
  Accept();
  api::Status status = api::FullStatus();
  api::SetCondition(&status, {api::kAccepted, api::ConditionStatus::kTrue, "Valid", ""}, api::At(0));
  const CrdServer::Answer written = server_->ApplyStatus(name_, api::ToJson(status), "espalier-operator");
  EXPECT_EQ(written.code, 200) << written.message();
  const Json progress = {{"progress", api::ProgressToJson({7, 14.5, 90, {{"loss", 0.5}}, api::At(9)})}};
  const CrdServer::Answer polled = server_->ApplyStatus(name_, progress, "espalier-progress");
  EXPECT_EQ(polled.code, 200) << polled.message();
}

TEST_F(CrdUpdatesLiveTest, RoleWithImageIsNotRemovable) {
  ExpectTaken(R"({"partitioner": {"image": "example.com/core:1"}, "runPolicy": {"suspend": true}})");
  Accept();
  ExpectRefused(R"({"partitioner": null})", "spec.partitioner.image", "cannot be removed");
  ExpectTaken(R"({"partitioner": {"image": "example.com/core:2", "nodeSelector": {"pool": "a"}}})");
}

TEST_F(CrdUpdatesLiveTest, AcceptedJobIsImmutable) {
  Accept();
  const char* words = "is immutable once the job is accepted";
  ExpectRefused(R"({"storage": {"s3": {"region": "eu-west-1"}}})", "spec.storage", words);
  ExpectRefused(R"({"graph": {"source": {"uri": "s3://graphs/other"}}})", "spec.graph", words);
  ExpectRefused(R"({"training": {"batchSize": 7}})", "spec.training", words);
  ExpectRefused(R"({"training": {"inputs": [{"features": ["other"]}]}})", "spec.training", words);
  ExpectRefused(R"({"checkpoint": {"keep": 3}})", "spec.checkpoint", words);
  ExpectRefused(R"({"output": {"uri": "s3://results/other"}})", "spec.output", words);
  ExpectRefused(R"({"tls": {"mode": "Disabled"}})", "spec.tls", words);
  ExpectRefused(R"({"servers": {"cacheMedium": "Memory"}})", "spec.servers.cacheMedium", words);
  ExpectRefused(R"({"trainers": {"threads": 2}})", "spec.trainers.threads", words);
  ExpectRefused(R"({"trainers": {"program": {"command": ["mine"]}}})", "spec.trainers.program", words);
}

TEST_F(CrdUpdatesLiveTest, ReplicasLabelsAndRunPolicyMayAlwaysChange) {
  Accept();
  ExpectTaken(R"({"trainers": {"replicas": 3, "minReplicas": 2, "maxReplicas": 4}})");
  ExpectTaken(R"({"trainers": {"minReplicas": null}})");
  ExpectTaken(R"({"runPolicy": {"backoffLimit": 9, "cleanPodPolicy": "All", "ttlSecondsAfterFinished": 60,
                                "activeDeadlineSeconds": 60, "forceDeleteAfterSeconds": 5}})");
  EXPECT_EQ(server_->Patch(name_, {{"metadata", {{"labels", {{"a", "b"}}}}}}).code, 200);
}

TEST_F(CrdUpdatesLiveTest, PodPlacementMayChangeOnlyWhileSuspended) {
  Accept();
  const char* words = "may change only while the job is suspended";
  ExpectRefused(R"({"trainers": {"image": "example.com/trainer:2"}})", "spec.trainers", words);
  ExpectRefused(R"({"trainers": {"template": {"spec": {"priorityClassName": "high"}}}})", "spec.trainers", words);
  ExpectRefused(R"({"trainers": {"gpus": 1}})", "spec.trainers", words);
  ExpectRefused(R"({"servers": {"env": [{"name": "A", "value": "1"}]}})", "spec.servers", words);
  ExpectRefused(R"({"partitioner": {"nodeSelector": {"pool": "a"}}})", "spec.partitioner", words);
  ExpectRefused(R"({"samplers": {"replicas": 2}})", "spec.samplers", words);

  ExpectTaken(R"({"runPolicy": {"suspend": true}, "trainers": {"image": "example.com/trainer:2", "gpus": 1}})");
  ExpectTaken(
      R"({"trainers": {"template": {"spec": {"priorityClassName": "high"}}, "resources": {"limits": {"cpu": 2}}},
                  "servers": {"env": [{"name": "A", "value": "1"}], "tolerations": [{"operator": "Exists"}]},
                  "partitioner": {"serviceAccountName": "reader"}, "samplers": {"replicas": 2}})");
  ExpectRefused(R"({"training": {"batchSize": 7}})", "spec.training", "is immutable once the job is accepted");
  // A queueing controller admits the job: it resumes it and sets where its pods run, in one request.
  ExpectTaken(R"({"runPolicy": {"suspend": false}, "trainers": {"nodeSelector": {"pool": "a"}}})");
  ExpectRefused(R"({"trainers": {"nodeSelector": {"pool": "b"}}})", "spec.trainers", words);
  ExpectRefused(R"({"trainers": {"template": null}})", "spec.trainers", words);
}

TEST_F(CrdUpdatesLiveTest, ImageIsReplaceableButNotRemovable) {
  ExpectTaken(R"({"trainers": {"image": "example.com/trainer:1"}})");
  ExpectTaken(R"({"trainers": {"image": null}})");
  ExpectTaken(R"({"trainers": {"image": "example.com/trainer:1"}, "runPolicy": {"suspend": true}})");
  Accept();
  ExpectRefused(R"({"trainers": {"image": null}})", "spec.trainers.image", "cannot be removed");
  ExpectTaken(R"({"trainers": {"image": "example.com/trainer:2"}})");
  ExpectTaken(R"({"servers": {"image": "example.com/core:2"}})");
}

TEST_F(CrdUpdatesLiveTest, ManagedByIsImmutable) {
  ExpectRefused(R"({"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}})", "spec.runPolicy.managedBy",
                "is immutable");
}

TEST_F(CrdUpdatesLiveTest, IsScaledThroughItsSubresource) {
  Accept();
  ExpectTaken(R"({"trainers": {"maxReplicas": 4}})");
  const CrdServer::Answer scaled = server_->Patch(name_, {{"spec", {{"replicas", 4}}}}, "scale");
  ASSERT_EQ(scaled.code, 200) << scaled.message();
  EXPECT_EQ(server_->Get(name_).body["spec"]["trainers"]["replicas"], 4);

  const CrdServer::Answer too_far = server_->Patch(name_, {{"spec", {{"replicas", 5}}}}, "scale");
  EXPECT_EQ(too_far.code, 422);
  EXPECT_THAT(too_far.message(), HasSubstr("spec.trainers.maxReplicas"));
}

TEST_F(CrdUpdatesLiveTest, KeepsEveryFieldOfAStatusFromBothOfItsWriters) {
  api::Status status = api::FullStatus();
  const CrdServer::Answer answer = server_->ApplyStatus(name_, api::ToJson(status), "espalier-operator");
  ASSERT_EQ(answer.code, 200) << answer.message();
  status.progress = api::Progress{7, 14.5, 90, {{"loss", 0.5}}, api::At(9), "Evaluating", 40};
  const Json progress = {{"progress", api::ProgressToJson(*status.progress)}};
  ASSERT_EQ(server_->ApplyStatus(name_, progress, "espalier-progress").code, 200);

  EXPECT_EQ(api::StatusFromJson(server_->Get(name_).body["status"]), status);

  kube::HttpRequest request = kube::GetRequest(kube::kDistTrainings, {"default", name_});
  request.target += "/scale";
  const CrdServer::Answer scale = server_->Send(request);
  EXPECT_EQ(scale.body["status"]["replicas"], status.trainer_replicas);
  EXPECT_EQ(scale.body["status"]["selector"], status.selector);
}

TEST_F(CrdUpdatesLiveTest, InvalidStatusIsRefused) {
  const CrdServer::Answer answer = server_->ApplyStatus(name_, {{"phase", "Odd"}}, "espalier-operator");
  EXPECT_EQ(answer.code, 422);
  EXPECT_THAT(answer.message(), HasSubstr("status.phase"));
}

}  // namespace
}  // namespace espalier::ctl
