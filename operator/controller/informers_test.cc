#include "operator/controller/informers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/client/api_client.h"
#include "services/base/mutex.h"

namespace espalier::ctl::controller {
namespace {

constexpr size_t kNumKinds = 4 + kMetadataOnlyKinds.size();

// An API server that does not respond. A request that is canceled ends only when all others have been canceled, too.
class TogetherTransport final : public client::HttpTransport {
 public:
  Result<client::HttpResponse> Send(const kube::HttpRequest&, Deadline deadline, std::stop_token stop) override {
    Count(&num_asked_);
    const std::stop_callback when_stopped(stop, [this] { Count(&num_stopped_); });
    MutexLock lock(&mutex_);
    const bool all_stopped = mutex_.AwaitBefore(
        deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return num_stopped_ == kNumKinds; });
    if (!all_stopped) ++num_alone_;
    return Cancelled("asked to stop");
  }
  Result<Stream> Open(const kube::HttpRequest&, Deadline, std::stop_token) override {
    return Unavailable("no watches");
  }

  bool AwaitAsked() {
    MutexLock lock(&mutex_);
    return mutex_.AwaitBefore(Deadline::After(std::chrono::seconds(30)),
                              [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return num_asked_ == kNumKinds; });
  }
  // Returns how many requests ended by their timeout, before all others were canceled.
  size_t num_alone() {
    MutexLock lock(&mutex_);
    return num_alone_;
  }

 private:
  void Count(size_t* number) {
    MutexLock lock(&mutex_);
    ++*number;
  }

  Mutex mutex_;
  size_t num_asked_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t num_stopped_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t num_alone_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST(InformersTest, StopRequestsAllBeforeWaiting) {
  TogetherTransport transport;
  telemetry::MetricRegistry registry;
  client::ClientMetrics client_metrics(registry);
  client::ApiClient client(transport, {.qps = 0}, client_metrics);
  Caches caches;
  Informers informers(client, {}, caches, {[](const kube::ObjectKey&) {}, [](const auto*, const auto*) {}}, registry);
  informers.Start();
  ASSERT_TRUE(transport.AwaitAsked());

  informers.Stop();

  EXPECT_EQ(transport.num_alone(), 0u);
}

// Lists one kind, with this end of its path, only when all other kinds have been listed, and then as `code` says.
class LastKindTransport final : public client::HttpTransport {
 public:
  LastKindTransport(std::string last_kind, int code) : last_kind_(std::move(last_kind)), code_(code) {}

  Result<client::HttpResponse> Send(const kube::HttpRequest& request, Deadline, std::stop_token) override {
    MutexLock lock(&mutex_);
    if (request.target.find(last_kind_) == std::string::npos) {
      ++num_listed_;
      return client::HttpResponse{.code = 200, .body = kList};
    }
    mutex_.AwaitBefore(Deadline::After(std::chrono::seconds(30)),
                       [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return num_listed_ >= kNumKinds; });
    return client::HttpResponse{.code = code_, .body = code_ == 200 ? kList : kForbidden};
  }
  Result<Stream> Open(const kube::HttpRequest&, Deadline, std::stop_token) override {
    return Unavailable("no watches");
  }

 private:
  static constexpr char kList[] = R"({"kind":"List","metadata":{"resourceVersion":"1"},"items":[]})";
  static constexpr char kForbidden[] = R"({"apiVersion":"v1","kind":"Status","code":403,"reason":"Forbidden",
      "message":"it is forbidden"})";
  const std::string last_kind_;
  const int code_;
  Mutex mutex_;
  size_t num_listed_ ABSL_GUARDED_BY(mutex_) = 0;
};

std::string WhyWorkloadsAreNotListedAfterSync(int code) {
  LastKindTransport transport("/workloads", code);
  telemetry::MetricRegistry registry;
  client::ClientMetrics client_metrics(registry);
  client::ApiClient client(transport, {.qps = 0}, client_metrics);
  Caches caches;
  Informers informers(client, {.kueue = true}, caches, {[](const kube::ObjectKey&) {}, [](const auto*, const auto*) {}},
                      registry);
  informers.Start();
  const Status synced = informers.WaitForSync(Deadline::After(std::chrono::hours(1)));
  EXPECT_TRUE(synced.ok()) << synced.ToString();
  return informers.ListError(kube::kWorkloads);
}

// Otherwise each start of the operator would report KueueUnavailable.
TEST(InformersTest, WorkloadsAreListedOrRefusedAfterSync) {
  EXPECT_EQ(WhyWorkloadsAreNotListedAfterSync(200), "");
  EXPECT_THAT(WhyWorkloadsAreNotListedAfterSync(403), testing::HasSubstr("it is forbidden"));
}

struct PodGroupsSeen {
  std::string why_not_listed;
  bool are_missing;
};

PodGroupsSeen PodGroupsAfterSync(int code) {
  LastKindTransport transport("/podgroups", code);
  telemetry::MetricRegistry registry;
  client::ClientMetrics client_metrics(registry);
  client::ApiClient client(transport, {.qps = 0}, client_metrics);
  Caches caches;
  Informers informers(client, {.pod_groups = true}, caches,
                      {[](const kube::ObjectKey&) {}, [](const auto*, const auto*) {}}, registry);
  informers.Start();
  const Status synced = informers.WaitForSync(Deadline::After(std::chrono::hours(1)));
  EXPECT_TRUE(synced.ok()) << synced.ToString();
  return {informers.ListError(kube::kPodGroups), informers.IsMissing(kube::kPodGroups)};
}

// An API server that does not serve a kind answers with 404, which is no reason to wait for the kind.
TEST(InformersTest, PodGroupsAreListedMissingOrRefusedAfterSync) {
  EXPECT_EQ(PodGroupsAfterSync(200).why_not_listed, "");
  EXPECT_FALSE(PodGroupsAfterSync(200).are_missing);
  EXPECT_TRUE(PodGroupsAfterSync(404).are_missing);
  EXPECT_FALSE(PodGroupsAfterSync(403).are_missing);
  EXPECT_THAT(PodGroupsAfterSync(403).why_not_listed, testing::HasSubstr("it is forbidden"));
}

}  // namespace
}  // namespace espalier::ctl::controller
