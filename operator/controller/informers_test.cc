#include "operator/controller/informers.h"

#include <gtest/gtest.h>

#include "operator/client/api_client.h"
#include "services/base/mutex.h"

namespace espalier::ctl::controller {
namespace {

constexpr size_t kNumKinds = 4 + kOtherKinds.size();

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

TEST(InformersTest, AreAllToldToStopBeforeOneIsWaitedFor) {
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

}  // namespace
}  // namespace espalier::ctl::controller
