// Tests an informer with its thread on a fake API server: lists, watches that are cut or expire, and Stop.
#include "operator/runtime/informer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "operator/client/testing/fake_api_server.h"
#include "operator/runtime/testing/things.h"

namespace espalier::ctl::runtime {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

kube::Json ConfigMap(const std::string& name, const std::string& value) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"data", {{"value", value}}}};
}

// Tests wait for changes that the informer reports, never for a time.
class InformerTest : public testing::Test {
 protected:
  void Put(const std::string& name, const std::string& value = "") {
    ASSERT_TRUE(server.Put(kube::kConfigMaps, ConfigMap(name, value)).ok());
  }
  std::string UidOf(const std::string& name) {
    const auto object = server.Find(kube::kConfigMaps, ThingKey(name));
    return object ? kube::StringAt(*object, {"metadata", "uid"}) : "";
  }
  bool AwaitAdded(const std::string& name) { return things.AwaitChange(name + " ->" + UidOf(name)); }

  static InformerOptions Options() {
    InformerOptions options;
    options.resource = &kube::kConfigMaps;
    return options;
  }

  client::FakeApiServer server;
  std::unique_ptr<client::HttpTransport> transport = server.Connect();
  telemetry::MetricRegistry registry;
  client::ClientMetrics client_metrics{registry};
  client::ApiClient client{*transport, {.qps = 0}, client_metrics};
  Things things;
  Informer informer{client, Options(), things.sink(), registry};
};

TEST_F(InformerTest, FollowsTheServer) {
  Put("a");
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(Deadline::After(seconds(30))));
  EXPECT_NE(things.store().Get(ThingKey("a")), nullptr);

  Put("b");
  EXPECT_TRUE(AwaitAdded("b"));
  const std::string uid = UidOf("a");
  ASSERT_TRUE(server.Remove(kube::kConfigMaps, ThingKey("a")).ok());
  EXPECT_TRUE(things.AwaitChange("a " + uid + ">-"));
  EXPECT_EQ(informer.last_error(), "");
}

TEST_F(InformerTest, FillsItsCacheInPages) {
  for (int i = 0; i < 1001; ++i) Put("a" + std::to_string(i));
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(Deadline::After(seconds(30))));

  EXPECT_EQ(things.store().size(), 1001u);
  int num_pages = 0;
  for (const auto& request : server.log()) num_pages += request.target.find("watch=true") == std::string::npos ? 1 : 0;
  EXPECT_EQ(num_pages, 3) << "of 500 objects";
}

TEST_F(InformerTest, ResumesAfterBrokenWatch) {
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(Deadline::After(seconds(30))));
  Put("a");
  ASSERT_TRUE(AwaitAdded("a"));

  server.CutWatches(/*broken=*/true);
  Put("b");

  EXPECT_TRUE(AwaitAdded("b"));
}

TEST_F(InformerTest, RelistsAfterExpiredHistory) {
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(Deadline::After(seconds(30))));
  Put("a", "x");
  ASSERT_TRUE(AwaitAdded("a"));
  const std::string uid = UidOf("a");

  server.MuteWatches(true);
  ASSERT_TRUE(server.Remove(kube::kConfigMaps, ThingKey("a")).ok());
  Put("b");
  server.Compact();
  server.CutWatches(/*broken=*/false);
  server.MuteWatches(false);

  EXPECT_TRUE(AwaitAdded("b"));
  EXPECT_TRUE(things.AwaitChange("a " + uid + ">-"));
}

TEST_F(InformerTest, WaitForSyncReportsReasonAtDeadline) {
  server.SetInterceptor([](const kube::HttpRequest&, bool) -> std::optional<Result<client::HttpResponse>> {
    return Result<client::HttpResponse>(
        client::HttpResponse{.code = 403, .body = R"({"apiVersion":"v1","kind":"Status","code":403,
        "reason":"Forbidden","message":"configmaps is forbidden"})"});
  });
  informer.Start();
  EXPECT_FALSE(informer.WaitForFirstList(Deadline::After(std::chrono::hours(1))));

  EXPECT_FALSE(informer.WaitForSync(Deadline::After(seconds(0))));
  EXPECT_FALSE(informer.has_synced());
  EXPECT_THAT(informer.last_error(), HasSubstr("configmaps is forbidden"));
}

TEST_F(InformerTest, StopEndsAWatchThatIsSilent) {
  informer.Start();
  ASSERT_TRUE(informer.WaitForSync(Deadline::After(seconds(30))));
  server.MuteWatches(true);

  informer.Stop();  // must not wait for the watch
  informer.Stop();
}

TEST_F(InformerTest, StopEndsWaitForNextTry) {
  server.SetInterceptor([](const kube::HttpRequest&, bool) -> std::optional<Result<client::HttpResponse>> {
    return Result<client::HttpResponse>(Unavailable("no route"));
  });
  informer.Start();
  std::jthread waiting([&] { EXPECT_FALSE(informer.WaitForSync(Deadline::After(std::chrono::hours(1)))); });

  informer.Stop();
}

TEST_F(InformerTest, MayBeStoppedWithoutHavingStarted) { informer.Stop(); }

}  // namespace
}  // namespace espalier::ctl::runtime
