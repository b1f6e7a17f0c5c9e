// Tests the guarantees of apply (apply.h) against a fake API server.
#include "operator/controller/apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/testing/one_job.h"
#include "operator/resources/labels.h"

namespace espalier::ctl::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Refusal = plan::Observed::DryRun::Refusal;
using ServerAnswer = std::optional<Result<client::HttpResponse>>;

Result<client::HttpResponse> MakeRefusal(int code, const std::string& reason, const std::string& message) {
  const kube::Json status = {
      {"apiVersion", "v1"}, {"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}};
  return client::HttpResponse{.code = code, .body = kube::Print(status)};
}

constexpr char kWebhookOutOfReach[] =
    "Internal error occurred: failed calling webhook \"policy.example.org\": failed to call webhook: Post "
    "\"https://policy.policies.svc:443/\": dial tcp 10.96.7.7:443: connect: connection refused";

class ApplyTest : public ::testing::Test {
 protected:
  ApplyTest() { plan.status = training.status; }

  Result<Applied> Apply() { return applier.Apply(training, plan); }
  // Returns the action that applies a ConfigMap.
  plan::ApplyChild ConfigMap(const std::string& uid = "") {
    kube::Json object = {{"apiVersion", "v1"},
                         {"kind", "ConfigMap"},
                         {"metadata",
                          {{"name", "cora-config"},
                           {"namespace", "ml"},
                           {"ownerReferences",
                            kube::Json::array({kube::MakeControllerReference(kube::kDistTrainings, training.meta)})}}},
                         {"data", {{"job.json", "{}"}}}};
    object["metadata"]["labels"] = resources::MakeSelector(training);
    if (!uid.empty()) object["metadata"]["uid"] = uid;
    return {&kube::kConfigMaps, object, uid};
  }
  // Returns the labels of a child.
  kube::Json Labeled() const {
    kube::Json more = kube::Json::object();
    more["metadata"]["labels"] = resources::MakeSelector(training);
    return more;
  }
  std::optional<kube::Json> Stored() const { return job.server.Find(kube::kConfigMaps, {"ml", "cora-config"}); }
  std::string UidOfStored() const { return kube::StringAt(*Stored(), {"metadata", "uid"}); }
  plan::DeleteChild Deletion(const std::string& uid) const { return {&kube::kConfigMaps, {"ml", "cora-config"}, uid}; }
  void Refuse(const std::string& method, const std::string& part, int code, const std::string& reason,
              const std::string& message = "no") {
    job.server.SetInterceptor([=](const kube::HttpRequest& request, bool) -> ServerAnswer {
      if (request.method != method || request.target.find(part) == std::string::npos) return std::nullopt;
      return MakeRefusal(code, reason, message);
    });
  }
  bool IsFresh() {
    return guard.IsFresh(job.key, [](const kube::Resource&) { return std::string("1"); });
  }

  OneJob job;
  api::DistTraining training = job.Training();
  plan::Plan plan;
  runtime::StaleGuard guard;
  runtime::EventRecorder events{job.client, "espalier.io/operator", "test", job.registry};
  ControllerMetrics metrics{job.registry};
  Applier applier{job.client, guard, events, job.memory, metrics, "cluster.local"};
};

TEST_F(ApplyTest, WritesNoUnchangedStatus) {
  plan.actions = {ConfigMap()};
  const Result<Applied> applied = Apply();
  ASSERT_TRUE(applied.ok()) << applied.status().ToString();
  EXPECT_FALSE(applied->wrote_status);
  EXPECT_EQ(job.NumRequests("PATCH", "/status"), 0);
  EXPECT_TRUE(Stored().has_value());
}

TEST_F(ApplyTest, CreatesNothingBeforeStatusIsStored) {
  plan.status.incarnation = 1;
  plan.actions = {ConfigMap()};
  Refuse("PATCH", "/status", 503, "ServiceUnavailable");
  EXPECT_EQ(Apply().status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(Stored().has_value());

  job.server.SetInterceptor(nullptr);
  ASSERT_TRUE(Apply().ok());
  EXPECT_TRUE(Stored().has_value());
  EXPECT_EQ(kube::IntegerAt(job.Stored(), {"status", "incarnation"}), 1);
}

TEST_F(ApplyTest, DoesNothingIfResourceChanged) {
  plan.status.incarnation = 1;
  plan.actions = {ConfigMap()};
  ASSERT_TRUE(job.server
                  .Update(kube::kDistTrainings, job.key,
                          [](kube::Json& object) { object["metadata"]["labels"]["team"] = "graphs"; })
                  .ok());
  EXPECT_EQ(Apply().status().code(), StatusCode::kAborted);
  EXPECT_FALSE(Stored().has_value());
}

TEST_F(ApplyTest, RecordsWritesUntilCachesShowThem) {
  EXPECT_TRUE(IsFresh());
  plan.actions = {ConfigMap()};
  ASSERT_TRUE(Apply().ok());
  EXPECT_FALSE(IsFresh());
}

TEST_F(ApplyTest, NeverChangesObjectsOfOthers) {
  job.PutObject(kube::kConfigMaps, "cora-config", /*is_ours=*/false, {{"data", {{"theirs", "1"}}}});
  plan.actions = {ConfigMap()};
  const Result<Applied> applied = Apply();
  ASSERT_TRUE(applied.ok()) << applied.status().ToString();
  EXPECT_TRUE(applied->is_refused);
  EXPECT_EQ((*Stored())["data"], (kube::Json{{"theirs", "1"}}));
  EXPECT_THAT(job.memory.FindTakenNames(job.key, training.meta.uid),
              ElementsAre(JobMemory::TakenName(&kube::kConfigMaps, "cora-config")));
  EXPECT_EQ(job.memory.FindRefusal(job.key, training.meta.uid)->reason, "NameTaken");
}

TEST_F(ApplyTest, FindsChildCreatedByLostResponse) {
  job.PutObject(kube::kConfigMaps, "cora-config", /*is_ours=*/true, Labeled());
  plan.actions = {ConfigMap()};
  const Result<Applied> applied = Apply();
  ASSERT_TRUE(applied.ok()) << applied.status().ToString();
  EXPECT_FALSE(applied->is_refused);
  EXPECT_EQ(job.NumRequests("PATCH"), 0);
  EXPECT_FALSE(IsFresh()) << "until the cache shows it";
}

TEST_F(ApplyTest, RestoresLabelsNeededByCaches) {
  kube::Json more = Labeled();
  more["metadata"]["labels"][resources::kManagedByLabel] = "a-policy";
  more["metadata"]["labels"]["team"] = "graphs";
  more["data"]["job.json"] = "as it was";
  job.PutObject(kube::kConfigMaps, "cora-config", /*is_ours=*/true, more);
  plan.actions = {ConfigMap()};
  const Result<Applied> applied = Apply();
  ASSERT_TRUE(applied.ok()) << applied.status().ToString();
  EXPECT_FALSE(applied->is_refused);
  EXPECT_EQ(kube::StringAt(*Stored(), {"metadata", "labels", resources::kManagedByLabel}), "espalier-operator");
  EXPECT_EQ(kube::StringAt(*Stored(), {"metadata", "labels", "team"}), "graphs");
  EXPECT_EQ(kube::StringAt(*Stored(), {"data", "job.json"}), "as it was");
  EXPECT_FALSE(IsFresh()) << "until the cache shows it";
}

TEST_F(ApplyTest, NamesLabelRemovedFromChild) {
  job.PutObject(kube::kConfigMaps, "cora-config", /*is_ours=*/true);
  const kube::Json without_labels = *Stored();  // a webhook removes the labels from our patch
  job.server.SetInterceptor([without_labels](const kube::HttpRequest& request, bool) -> ServerAnswer {
    if (request.method != "PATCH") return std::nullopt;
    return Result<client::HttpResponse>(client::HttpResponse{.code = 200, .body = kube::Print(without_labels)});
  });
  plan.actions = {ConfigMap()};
  const Result<Applied> applied = Apply();
  ASSERT_TRUE(applied.ok()) << applied.status().ToString();
  EXPECT_TRUE(applied->is_refused);
  EXPECT_THAT(job.memory.FindRefusal(job.key, training.meta.uid)->message, HasSubstr(resources::kManagedByLabel));
  EXPECT_TRUE(IsFresh()) << "no cache will show it";
}

TEST_F(ApplyTest, ChangeDoesNotRecreateDeletedChild) {
  job.PutObject(kube::kConfigMaps, "cora-config", /*is_ours=*/true);
  plan.actions = {ConfigMap(UidOfStored())};
  ASSERT_TRUE(job.server.Remove(kube::kConfigMaps, {"ml", "cora-config"}).ok());
  EXPECT_EQ(Apply().status().code(), StatusCode::kAborted);
  EXPECT_FALSE(Stored().has_value());
}

TEST_F(ApplyTest, DeletesOnlyObjectWithUid) {
  job.PutObject(kube::kConfigMaps, "cora-config", /*is_ours=*/true);
  plan.actions = {Deletion("of-the-one-before")};
  EXPECT_EQ(Apply().status().code(), StatusCode::kAborted);
  EXPECT_TRUE(Stored().has_value());

  plan.actions = {Deletion(UidOfStored())};
  EXPECT_TRUE(Apply().ok());
  EXPECT_FALSE(Stored().has_value());
  EXPECT_TRUE(Apply().ok()) << "gone already";
}

TEST_F(ApplyTest, DeletesNothingForOldGeneration) {
  job.PutObject(kube::kConfigMaps, "cora-config", /*is_ours=*/true);
  plan.actions = {Deletion(UidOfStored())};
  --training.meta.generation;  // the plan was made for an older generation
  EXPECT_EQ(Apply().status().code(), StatusCode::kAborted);
  EXPECT_TRUE(Stored().has_value());
}

TEST_F(ApplyTest, StopsAtFirstRefusalAndRecordsIt) {
  job.PutObject(kube::kConfigMaps, "other", /*is_ours=*/true);
  plan.actions = {ConfigMap(), plan::DeleteSelf{}};
  Refuse("POST", "/configmaps", 403, "Forbidden");
  Result<Applied> applied = Apply();
  ASSERT_TRUE(applied.ok()) << applied.status().ToString();
  EXPECT_TRUE(applied->is_refused && applied->requeue_now);
  EXPECT_EQ(job.memory.FindRefusal(job.key, training.meta.uid)->child, "ConfigMap cora-config");
  EXPECT_TRUE(job.server.Find(kube::kDistTrainings, job.key).has_value());
  applied = Apply();
  EXPECT_TRUE(applied.ok() && applied->is_refused && !applied->requeue_now) << "it is known by now";

  job.server.SetInterceptor(nullptr);
  plan.actions = {ConfigMap()};
  applied = Apply();
  EXPECT_TRUE(applied.ok() && !applied->is_refused && applied->requeue_now);
  EXPECT_FALSE(job.memory.FindRefusal(job.key, training.meta.uid).has_value());
}

// The deletion of a pod on a lost node, on which no other action depends.
TEST_F(ApplyTest, RefusedForcedDeletionDoesNotStopOtherActions) {
  job.PutObject(kube::kPods, "cora-server-0-0", /*is_ours=*/true);
  const std::string uid = kube::StringAt(*job.server.Find(kube::kPods, {"ml", "cora-server-0-0"}), {"metadata", "uid"});
  plan.actions = {plan::DeleteChild{&kube::kPods, {"ml", "cora-server-0-0"}, uid, /*force=*/true}, ConfigMap()};
  Refuse("DELETE", "/pods/", 403, "Forbidden", "a policy");
  const Result<Applied> applied = Apply();
  ASSERT_TRUE(applied.ok()) << applied.status().ToString();
  EXPECT_TRUE(applied->is_refused);
  EXPECT_TRUE(Stored().has_value());
  const auto refusal = job.memory.FindRefusal(job.key, training.meta.uid);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->child, "Pod cora-server-0-0");
  EXPECT_THAT(refusal->message, HasSubstr("a policy"));
}

// The plan was made from a cache that did not show the success yet.
TEST_F(ApplyTest, DeletesNoCompletedTrainers) {
  kube::Json done = Labeled();
  done["metadata"]["labels"][resources::kComponentLabel] = "trainer";
  done["status"]["conditions"] = kube::Json::array({{{"type", "SuccessCriteriaMet"}, {"status", "True"}}});
  job.PutObject(kube::kJobs, "cora-trainer-1", /*is_ours=*/true, done);
  const auto stored = [this] { return job.server.Find(kube::kJobs, {"ml", "cora-trainer-1"}); };
  plan.actions = {plan::DeleteChild{
      &kube::kJobs, {"ml", "cora-trainer-1"}, kube::StringAt(*stored(), {"metadata", "uid"}), /*force=*/false}};
  EXPECT_EQ(Apply().status().code(), StatusCode::kAborted);
  EXPECT_TRUE(stored().has_value());
  // After the end of the job the same deletion is carried out.
  api::SetCondition(&plan.status, {.type = api::kFailed, .status = api::ConditionStatus::kTrue, .reason = "R"},
                    job.now);
  const Result<Applied> applied = Apply();
  EXPECT_TRUE(applied.ok()) << applied.status().ToString();
  EXPECT_FALSE(stored().has_value());
}

// A webhook may be unreachable until a user repairs it. A retry with backoff alone would report it nowhere.
TEST_F(ApplyTest, ReportsUnreachableWebhook) {
  plan.actions = {ConfigMap()};
  Refuse("POST", "/configmaps", 500, "InternalError", kWebhookOutOfReach);
  const Result<Applied> applied = Apply();
  ASSERT_TRUE(applied.ok()) << applied.status().ToString();
  EXPECT_TRUE(applied->is_refused && applied->requeue_now);
  EXPECT_THAT(job.memory.FindRefusal(job.key, training.meta.uid)->message, HasSubstr("policy.example.org"));

  Refuse("POST", "/configmaps", 500, "InternalError");
  EXPECT_EQ(Apply().status().code(), StatusCode::kUnavailable) << "any other fault of the server's is tried again";
}

// A plan whose only action is the dry run of the templates.
class TemplatesTest : public ApplyTest {
 protected:
  TemplatesTest() {
    kube::Json trainers = {{"apiVersion", "batch/v1"}, {"kind", "Job"}};
    trainers["metadata"] = {{"name", "cora-trainer-1"}, {"namespace", "ml"}};
    trainers["metadata"]["labels"] = {{"app.kubernetes.io/component", "trainer"}};
    plan.actions = {plan::DryRunTemplates{{{&kube::kJobs, trainers}}}};
  }
  plan::Observed::DryRun Answer() {
    const Result<Applied> applied = Apply();
    EXPECT_TRUE(applied.ok()) << applied.status().ToString();
    return job.memory.FindDryRun(job.key, training.meta.uid).value_or(plan::Observed::DryRun());
  }
};

TEST_F(TemplatesTest, InvalidTemplateIsReported) {
  Refuse("PATCH", "/jobs", 422, "Invalid", ".spec.template.spec.foo: no such field");
  const plan::Observed::DryRun answer = Answer();
  EXPECT_EQ(answer.error, "spec.trainers.template.spec.foo: no such field");
  EXPECT_EQ(answer.refusal, Refusal::kTemplate);
}

TEST_F(TemplatesTest, NameConflictIsNoTemplateError) {
  job.PutObject(kube::kJobs, "cora-trainer-1", /*is_ours=*/false);
  Refuse("PATCH", "/jobs", 422, "Invalid", ".spec.template: field is immutable");
  EXPECT_EQ(Answer().refusal, Refusal::kName);
  EXPECT_EQ(Answer().error, "Job cora-trainer-1 exists and is not this job's");
}

// The object of an earlier job of the same name has just been deleted.
TEST_F(TemplatesTest, DryRunRepeatsWhenNameBecomesFree) {
  int requested = 0;
  job.server.SetInterceptor([&](const kube::HttpRequest& request, bool is_done) -> ServerAnswer {
    const bool is_of_jobs = request.method == "PATCH" && request.target.find("/jobs") != std::string::npos;
    if (is_done || !is_of_jobs || requested++ > 0) return std::nullopt;
    return MakeRefusal(422, "Invalid", ".spec.template: field is immutable");
  });
  EXPECT_EQ(Answer().refusal, Refusal::kNone);
  EXPECT_EQ(requested, 2);
}

TEST_F(TemplatesTest, WebhookFailureIsNoTemplateError) {
  Refuse("PATCH", "/jobs", 400, "BadRequest", "admission webhook \"x\" does not support dry run");
  EXPECT_EQ(Answer().refusal, Refusal::kNone);
  EXPECT_THAT(Answer().error, HasSubstr("does not support dry run"));
  Refuse("PATCH", "/jobs", 500, "InternalError", kWebhookOutOfReach);
  EXPECT_EQ(Answer().refusal, Refusal::kWebhook);
  EXPECT_THAT(Answer().error, HasSubstr("policy.example.org"));
}

TEST_F(ApplyTest, RefusedFinalProgressDoesNotStopOtherActions) {
  job.PutObject(kube::kConfigMaps, "cora-config", /*is_ours=*/true);
  plan.actions = {plan::WriteProgress{{.epoch = 5, .percent = 100}}, Deletion(UidOfStored())};
  Refuse("PATCH", "/status", 422, "Invalid");
  ASSERT_TRUE(Apply().ok());
  EXPECT_FALSE(Stored().has_value());

  // With an unreachable webhook the actions after it wait, so the pods with the termination message stay.
  job.PutObject(kube::kConfigMaps, "cora-config", /*is_ours=*/true);
  plan.actions[1] = Deletion(UidOfStored());
  Refuse("PATCH", "/status", 500, "InternalError", kWebhookOutOfReach);
  const Result<Applied> applied = Apply();
  ASSERT_TRUE(applied.ok()) << applied.status().ToString();
  EXPECT_TRUE(applied->is_refused) << "tried again";
  EXPECT_EQ(job.memory.FindRefusal(job.key, training.meta.uid)->child, "DistTraining " + job.key.name);
  EXPECT_TRUE(Stored().has_value());

  job.server.SetInterceptor(nullptr);
  plan.actions = {plan::WriteProgress{{.epoch = 5, .percent = 100}}};
  ASSERT_TRUE(Apply().ok());
  EXPECT_EQ(job.Training().status.progress->epoch, 5);
}

TEST_F(ApplyTest, CreatesCertificatesWithoutRereading) {
  plan.actions = {plan::MakeAuthority{}, plan::MakeLeaf{api::Role::kServer}, plan::MakeLeaf{api::Role::kTrainer}};
  ASSERT_TRUE(Apply().ok());
  EXPECT_EQ(job.NumRequests("GET"), 0);
  EXPECT_EQ(job.server.Count(kube::kSecrets), 3u);
  const std::optional<Certificates> known = job.memory.FindCertificates(job.key, training.meta.uid);
  ASSERT_TRUE(known.has_value() && known->authority.has_value());
  ASSERT_EQ(known->leaves.size(), 2u);
  EXPECT_EQ(known->leaves.at(api::Role::kServer).authority, known->authority->authority);
}

TEST_F(ApplyTest, RenewsLeafWithExistingAuthority) {
  plan.actions = {plan::MakeAuthority{}, plan::MakeLeaf{api::Role::kServer}};
  ASSERT_TRUE(Apply().ok());
  const auto leaf = [&] { return *job.server.Find(kube::kSecrets, {"ml", "cora-tls-server"}); };
  const auto authority = [&] { return *job.server.Find(kube::kSecrets, {"ml", "cora-ca"}); };
  const kube::Json old_leaf = leaf(), old_authority = authority();
  plan.actions = {plan::MakeAuthority{}, plan::MakeLeaf{api::Role::kServer}};
  ASSERT_TRUE(Apply().ok());
  EXPECT_EQ(authority(), old_authority) << "leaves of two authorities do not trust each other";
  EXPECT_NE(leaf()["data"]["tls.crt"], old_leaf["data"]["tls.crt"]);
  EXPECT_EQ(leaf()["data"]["ca.crt"], old_authority["data"]["tls.crt"]);
}

TEST_F(ApplyTest, ForgetsCertificatesAfterFailure) {
  job.PutObject(kube::kSecrets, "cora-tls-server", /*is_ours=*/false);
  plan.actions = {plan::MakeAuthority{}, plan::MakeLeaf{api::Role::kServer}};
  const Result<Applied> applied = Apply();
  ASSERT_TRUE(applied.ok()) << applied.status().ToString();
  EXPECT_TRUE(applied->is_refused);
  EXPECT_THAT(job.memory.FindRefusal(job.key, training.meta.uid)->message, HasSubstr("is not this job's"));
  EXPECT_FALSE(job.memory.FindCertificates(job.key, training.meta.uid).has_value());
}

}  // namespace
}  // namespace espalier::ctl::controller
