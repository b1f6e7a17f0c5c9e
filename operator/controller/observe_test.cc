#include "operator/controller/observe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/controller/testing/one_job.h"

namespace espalier::ctl::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const kube::Json kWithCredentials = {{"storage", {{"s3", {{"credentials", {{"secretName", "cora-s3"}}}}}}}};

class ObserveTest : public ::testing::Test {
 protected:
  plan::Observed Ask(const plan::Lookups& lookups) {
    plan::Observed seen;
    const Status status = PerformLookups(lookups, job.Training(), job.client, job.memory, job.now, &seen);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return seen;
  }
  void PutEvent(const std::string& name, const std::string& uid, const std::string& reason, const std::string& message,
                const std::string& time) {
    job.PutObject(kube::kCoreEvents, name, /*is_ours=*/false,
                  {{"involvedObject", {{"uid", uid}, {"kind", "Pod"}}},
                   {"type", "Warning"},
                   {"reason", reason},
                   {"message", message},
                   {"lastTimestamp", time}});
  }

  OneJob job{kWithCredentials};
};

TEST_F(ObserveTest, RequestsNothingUnneeded) {
  const plan::Observed seen = Ask({});
  EXPECT_THAT(seen.missing_secrets, IsEmpty());
  EXPECT_EQ(job.server.num_requests(), 0);
}

TEST_F(ObserveTest, FindsMissingSecretsAndKeys) {
  plan::Observed seen = Ask({.referenced_secrets = true});
  ASSERT_THAT(seen.missing_secrets, SizeIs(1));
  EXPECT_EQ(seen.missing_secrets[0].name, "cora-s3");
  EXPECT_THAT(seen.missing_secrets[0].keys, IsEmpty());

  job.PutObject(kube::kSecrets, "cora-s3", /*is_ours=*/false, {{"data", {{"AWS_ACCESS_KEY_ID", "eA=="}}}});
  seen = Ask({.referenced_secrets = true});
  ASSERT_THAT(seen.missing_secrets, SizeIs(1));
  EXPECT_THAT(seen.missing_secrets[0].keys, ElementsAre("AWS_SECRET_ACCESS_KEY"));

  job.PutObject(kube::kSecrets, "cora-s3", /*is_ours=*/false,
                {{"data", {{"AWS_ACCESS_KEY_ID", "eA=="}, {"AWS_SECRET_ACCESS_KEY", "eA=="}}}});
  EXPECT_THAT(Ask({.referenced_secrets = true}).missing_secrets, IsEmpty());
}

TEST_F(ObserveTest, ReadsFlavorsOnceAndNamesMissingOnes) {
  const kube::Json toleration = {{"key", "spot"}, {"operator", "Exists"}};
  const kube::Json spot = {
      {"apiVersion", "kueue.x-k8s.io/v1beta2"},
      {"kind", "ResourceFlavor"},
      {"metadata", {{"name", "spot"}}},
      {"spec", {{"nodeLabels", {{"pool", "spot"}}}, {"tolerations", kube::Json::array({toleration})}}}};
  ASSERT_TRUE(job.server.Put(kube::kResourceFlavors, spot).ok());
  const plan::Observed seen = Ask({.flavors = {"spot", "gone"}});
  EXPECT_EQ(seen.queue.flavors.at("spot").node_labels, (kube::Json{{"pool", "spot"}}));
  EXPECT_EQ(seen.queue.flavors.at("spot").tolerations, kube::Json::array({toleration}));
  EXPECT_EQ(seen.queue.flavors.at("spot").error, "");
  EXPECT_NE(seen.queue.flavors.at("gone").error, "");
  Ask({.flavors = {"spot"}});
  EXPECT_EQ(job.NumRequests("GET", "/resourceflavors/spot"), 1);
}

TEST_F(ObserveTest, ReadsPriorityClassOrReturnsError) {
  EXPECT_NE(Ask({.priority_class = "high"}).queue.priority_error, "");
  const kube::Json high = {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                           {"kind", "WorkloadPriorityClass"},
                           {"metadata", {{"name", "high"}}},
                           {"value", 100}};
  ASSERT_TRUE(job.server.Put(kube::kWorkloadPriorityClasses, high).ok());
  const plan::Observed seen = Ask({.priority_class = "high"});
  EXPECT_EQ(seen.queue.priority, 100);
  EXPECT_EQ(seen.queue.priority_error, "");
}

TEST_F(ObserveTest, GivenCertificatesNeedAPairForEachRoleThatHasPeers) {
  const kube::Json mine = {{"tls", {{"mode", "SecretRef"}, {"secretName", "mine"}}}};
  const OneJob given(mine);
  const std::vector<SecretReference> references = FindReferencedSecrets(*given.Training().spec);
  ASSERT_THAT(references, SizeIs(1));
  EXPECT_EQ(references[0].name, "mine");
  EXPECT_THAT(references[0].keys, ElementsAre("ca.crt", "server.crt", "server.key", "trainer.crt", "trainer.key"));
}

TEST_F(ObserveTest, ReadsLeavesOnlyWithAuthorityAndCachesThem) {
  EXPECT_FALSE(Ask({.certificates = true}).authority.has_value());
  EXPECT_EQ(job.NumRequests("GET", "/secrets/"), 1);
  Ask({.certificates = true});
  EXPECT_EQ(job.NumRequests("GET", "/secrets/"), 1);
  job.now += kCertificatesLifetime;
  Ask({.certificates = true});
  EXPECT_EQ(job.NumRequests("GET", "/secrets/"), 2);
}

TEST_F(ObserveTest, RereadsCertificatesWhenCacheIsTooOld) {
  Ask({.certificates = true});
  ASSERT_EQ(job.NumRequests("GET", "/secrets/"), 1);
  const kube::WallTime read_at = job.now;
  job.now += std::chrono::seconds(20);
  Ask({.certificates = true, .certificates_must_be_read_since = read_at});
  EXPECT_EQ(job.NumRequests("GET", "/secrets/"), 1);
  Ask({.certificates = true, .certificates_must_be_read_since = job.now});
  EXPECT_EQ(job.NumRequests("GET", "/secrets/"), 2);
}

TEST_F(ObserveTest, ReturnsNewestMountFailureOfPod) {
  PutEvent("a", "pod-1", "FailedMount", "the old one", "2099-01-01T00:00:00Z");
  PutEvent("b", "pod-1", "FailedAttachVolume", "the new one", "2099-01-01T00:00:09Z");
  PutEvent("c", "pod-1", "Unhealthy", "of a probe", "2099-01-01T00:00:10Z");
  PutEvent("d", "pod-2", "FailedMount", "of another pod", "2099-01-01T00:00:10Z");
  const plan::Observed seen = Ask({.mount_failures_of = {"pod-1", "pod-3"}});
  EXPECT_EQ(seen.mount_failures, (std::map<std::string, std::string>{{"pod-1", "the new one"}}));
}

TEST_F(ObserveTest, OldMountFailureIsIgnored) {
  PutEvent("a", "pod-1", "FailedMount", "at the start, once", "2027-01-15T07:50:00Z");
  PutEvent("b", "pod-2", "FailedMount", "still", "2027-01-15T07:58:00Z");
  ASSERT_EQ(job.now, *kube::ParseTime("2027-01-15T08:00:00Z"));
  const plan::Observed seen = Ask({.mount_failures_of = {"pod-1", "pod-2"}});
  EXPECT_EQ(seen.mount_failures, (std::map<std::string, std::string>{{"pod-2", "still"}}));
}

TEST_F(ObserveTest, ReturnsPodCreationFailuresNewestFirst) {
  PutEvent("a", "set-1", "FailedCreate", "the old one", "2099-01-01T00:00:00Z");
  PutEvent("b", "set-1", "FailedCreate", "the new one", "2099-01-01T00:00:09Z");
  PutEvent("c", "set-1", "SuccessfulCreate", "of no interest", "2099-01-01T00:00:10Z");
  const plan::Observed seen = Ask({.creation_failures_of = {"set-1"}});
  EXPECT_THAT(seen.creation_failures.at("set-1"), ElementsAre("the new one", "the old one"));
}

TEST_F(ObserveTest, CachesEventsUntilPlanRequestsNewOnes) {
  static_assert(kEventsLifetime < plan::kMinEventReadInterval);
  const plan::Lookups lookups{.creation_failures_of = {"set-1"}, .mount_failures_of = {"pod-1"}};
  EXPECT_THAT(Ask(lookups).creation_failures.at("set-1"), IsEmpty());
  EXPECT_EQ(job.NumRequests("GET", "/events"), 2);
  PutEvent("a", "set-1", "FailedCreate", "a quota", "2099-01-01T00:00:00Z");
  PutEvent("b", "pod-1", "FailedMount", "a volume", "2099-01-01T00:00:00Z");
  EXPECT_THAT(Ask(lookups).creation_failures.at("set-1"), IsEmpty());
  EXPECT_EQ(job.NumRequests("GET", "/events"), 2) << "no answer is an answer";
  job.now += plan::kMinEventReadInterval;
  const plan::Observed seen = Ask(lookups);
  EXPECT_THAT(seen.creation_failures.at("set-1"), ElementsAre("a quota"));
  EXPECT_EQ(seen.mount_failures.at("pod-1"), "a volume");
  EXPECT_EQ(job.NumRequests("GET", "/events"), 4);
  Ask(lookups);
  EXPECT_EQ(job.NumRequests("GET", "/events"), 4);
}

TEST_F(ObserveTest, VanishedJobIsConfirmedByServer) {
  job.PutObject(kube::kJobs, "cora-trainer-1", /*is_ours=*/true);
  EXPECT_THAT(Ask({.vanished_jobs = {"cora-trainer-1", "cora-trainer-2"}}).confirmed_gone,
              ElementsAre("cora-trainer-2"));
}

// A watch that is behind shows an ended Job and none of its pods.
TEST_F(ObserveTest, RequestsPodsMissingFromCache) {
  const auto put = [this](const char* name, const char* of_job) {
    job.PutObject(kube::kPods, name, /*is_ours=*/true,
                  {{"metadata", {{"labels", {{"batch.kubernetes.io/job-name", of_job}}}}}});
  };
  put("cora-partition-1-x", "cora-partition-1");
  put("cora-partition-2-y", "cora-partition-2");
  const plan::Observed seen = Ask({.unseen_pods_of = {"cora-partition-2", "cora-trainer-1"}});
  ASSERT_THAT(seen.pods, SizeIs(1));
  EXPECT_EQ(seen.pods[0]->meta.key.name, "cora-partition-2-y");
}

TEST_F(ObserveTest, UnavailableServerIsErrorNotAbsence) {
  job.server.SetInterceptor([](const kube::HttpRequest&, bool) -> std::optional<Result<client::HttpResponse>> {
    return Result<client::HttpResponse>(Unavailable("down"));
  });
  plan::Observed seen;
  EXPECT_FALSE(
      PerformLookups({.referenced_secrets = true}, job.Training(), job.client, job.memory, job.now, &seen).ok());
  EXPECT_FALSE(
      PerformLookups({.vanished_jobs = {"cora-trainer-1"}}, job.Training(), job.client, job.memory, job.now, &seen)
          .ok());
  EXPECT_THAT(seen.confirmed_gone, IsEmpty());
}

TEST_F(ObserveTest, NameIsTakenUntilObjectIsDeletedOrOurs) {
  const std::string uid = job.Training().meta.uid;
  job.PutObject(kube::kServices, "cora", /*is_ours=*/false);
  job.memory.RememberTakenName(job.key, uid, {&kube::kServices, "cora"});
  plan::Observed seen;
  ASSERT_TRUE(ReadConflictingObjects(job.Training(), job.client, job.memory, &seen).ok());
  ASSERT_THAT(seen.conflicting_objects, SizeIs(1));
  EXPECT_EQ(seen.conflicting_objects[0].meta.key.name, "cora");

  ASSERT_TRUE(job.server.Remove(kube::kServices, {"ml", "cora"}).ok());
  seen = {};
  ASSERT_TRUE(ReadConflictingObjects(job.Training(), job.client, job.memory, &seen).ok());
  EXPECT_THAT(seen.conflicting_objects, IsEmpty());
  EXPECT_THAT(job.memory.FindTakenNames(job.key, uid), IsEmpty());
}

TEST_F(ObserveTest, SelectsCachedObjectsByJobLabel) {
  Caches caches;
  kube::Job mine;
  mine.meta.key = {"ml", "cora-partition-1"};
  mine.meta.labels = {{"espalier.io/job", "cora"}};
  kube::Job other = mine;
  other.meta.key.name = "else-partition-1";
  other.meta.labels = {{"espalier.io/job", "else"}};
  caches.jobs.Put(mine);
  caches.jobs.Put(other);
  const plan::Observed seen = ObserveCaches(job.Training(), caches, job.memory);
  ASSERT_THAT(seen.jobs, SizeIs(1));
  EXPECT_EQ(seen.jobs[0]->meta.key.name, "cora-partition-1");
  EXPECT_EQ(job.server.num_requests(), 0);
}

}  // namespace
}  // namespace espalier::ctl::controller
