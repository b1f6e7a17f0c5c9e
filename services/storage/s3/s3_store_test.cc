#include "services/storage/s3/s3_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "services/base/failpoint.h"
#include "services/base/testing/fake_clock.h"
#include "services/base/testing/no_more_threads.h"
#include "services/storage/s3/credential_sources.h"
#include "services/storage/testing/fake_s3.h"
#include "services/storage/testing/faulty_transport.h"
#include "services/storage/testing/put_text.h"
#include "services/storage/testing/scripted_transport.h"

namespace espalier::storage {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr PartSizes kSmallParts{.first_bytes = 100};
const WallTime kNow{seconds(1'800'000'000)};

// Forwards requests to `inner`. `before` may respond instead of `inner`; `after` may replace the response of `inner`.
class Interceptor final : public http::Transport {
 public:
  explicit Interceptor(http::Transport& inner) : inner_(inner) {}
  Result<http::Response> Send(const http::Request& request, const http::SendOptions& options) override {
    if (before) {
      if (auto answer = before(request)) return ScriptedTransport::Deliver(*answer, options);
    }
    Result<http::Response> response = inner_.Send(request, options);
    return after ? after(request, std::move(response)) : std::move(response);
  }
  std::function<std::optional<http::Response>(const http::Request&)> before;
  std::function<Result<http::Response>(const http::Request&, Result<http::Response>)> after;

 private:
  http::Transport& inner_;
};

class S3StoreTest : public ::testing::Test {
 protected:
  S3Store Store(std::shared_ptr<http::Transport> transport, const std::string& root = "jobs/1") {
    auto client = std::make_shared<S3Client>(
        std::move(transport),
        MakeFixedSource({.access_key_id = "AKID", .secret_access_key = telemetry::Secret("secret")}),
        S3ClientOptions{.clock = &clock_, .now = [] { return kNow; }, .jitter_seed = 1});
    return S3Store(std::move(client), FakeS3::Bucket(), root, kSmallParts);
  }
  std::vector<std::string> Keys(S3Store& store) {
    std::vector<std::string> keys;
    const auto objects = store.List("");
    EXPECT_TRUE(objects.ok()) << objects.status().ToString();
    for (const ObjectInfo& object : *objects) keys.push_back(object.key);
    return keys;
  }

  FakeClock clock_;
  std::shared_ptr<FakeS3> service_ = std::make_shared<FakeS3>();
  std::shared_ptr<Interceptor> network_ = std::make_shared<Interceptor>(*service_);
};

std::string Digits(size_t length) {
  std::string text;
  while (text.size() < length) text += std::to_string(text.size()) + ",";
  return text.substr(0, length);
}

TEST_F(S3StoreTest, PutsASmallObjectInOneRequest) {
  S3Store store = Store(service_);
  ASSERT_TRUE(PutText(store, "k", Digits(100)).ok());
  EXPECT_EQ(service_->num_requests(), 1);
  EXPECT_EQ(*store.Get("k"), Digits(100));
}

TEST_F(S3StoreTest, PutsALargeObjectInParts) {
  S3Store store = Store(service_);
  ASSERT_TRUE(PutText(store, "k", Digits(1001)).ok());
  EXPECT_EQ(service_->num_requests(), 1 + 11 + 1);
  EXPECT_EQ(*store.Get("k"), Digits(1001));
  EXPECT_EQ(service_->num_open_uploads(), 0u);
}

// MinIO before 2025 stores a checksum of the parts' checksums, and interprets the checksum in the completion as such.
TEST_F(S3StoreTest, OmitsObjectChecksumIfServiceKeepsNone) {
  std::string completion_checksum = "none sent";
  network_->after = [&](const http::Request& request, Result<http::Response> response) {
    if (request.url.ends_with("?uploads=")) response->headers.clear();
    if (request.method == "POST" && request.url.find("uploadId") != std::string::npos) {
      for (const auto& [name, value] : request.headers) {
        if (name == "x-amz-checksum-crc32") completion_checksum = value;
      }
    }
    return response;
  };
  S3Store store = Store(network_);
  EXPECT_TRUE(PutText(store, "k", Digits(500)).ok());
  EXPECT_EQ(completion_checksum, "none sent");
  network_->after = [&](const http::Request& request, Result<http::Response> response) {
    for (const auto& [name, value] : request.headers) {
      if (name == "x-amz-checksum-crc32") completion_checksum = value;
    }
    return response;
  };
  EXPECT_TRUE(PutText(store, "k", Digits(500)).ok());
  EXPECT_EQ(completion_checksum, EncodeCrc32(ComputeCrc32(BytesOf(Digits(500)))));
}

// Some services accept the header when an upload begins and reject it with the parts.
TEST_F(S3StoreTest, WritesPartsToAServiceWithoutChecksums) {
  network_->before = [](const http::Request& request) -> std::optional<http::Response> {
    for (const auto& [name, value] : request.headers) {
      if (name != "x-amz-checksum-crc32") continue;
      return http::Response{501,
                            {},
                            "<Error><Code>NotImplemented</Code><Message>Header 'x-amz-checksum-crc32' with "
                            "value 'x' not implemented</Message></Error>",
                            0};
    }
    return std::nullopt;
  };
  S3Store store = Store(network_);
  EXPECT_TRUE(PutText(store, "k", Digits(1001)).ok());
  EXPECT_EQ(*store.Get("k"), Digits(1001));
  EXPECT_TRUE(Store(network_).PutIfAbsent("l", BytesOf("x")).ok()) << "501 may be about the condition too";
}

TEST_F(S3StoreTest, UploadsPartsSequentiallyWithoutThreads) {
  S3Store store = Store(service_);
  {
    const NoMoreThreads none;
    ASSERT_TRUE(PutText(store, "k", Digits(1001)).ok());
  }
  EXPECT_EQ(service_->num_requests(), 1 + 11 + 1);
  EXPECT_EQ(*store.Get("k"), Digits(1001));
}

TEST_F(S3StoreTest, AbortsUncommittedUpload) {
  S3Store store = Store(service_);
  {
    const auto writer = store.Put("k");
    ASSERT_TRUE((*writer)->Write(BytesOf(Digits(500))).ok());
    EXPECT_EQ(service_->num_open_uploads(), 1u);
  }
  EXPECT_EQ(service_->num_open_uploads(), 0u);
  EXPECT_TRUE(Keys(store).empty());
}

TEST_F(S3StoreTest, AbortsAfterAFailureAndStaysFailed) {
  network_->before = [](const http::Request& request) -> std::optional<http::Response> {
    if (request.url.find("partNumber=3") == std::string::npos) return std::nullopt;
    return http::Response{403, {}, "<Error><Code>AccessDenied</Code><Message>m</Message></Error>", 0};
  };
  S3Store store = Store(network_);
  {
    const auto writer = store.Put("k");
    (void)(*writer)->Write(BytesOf(Digits(1000)));
    EXPECT_EQ((*writer)->Commit().code(), StatusCode::kPermissionDenied);
    EXPECT_EQ((*writer)->Write(BytesOf("more")).code(), StatusCode::kPermissionDenied);
    EXPECT_EQ((*writer)->Commit().code(), StatusCode::kPermissionDenied);
  }
  EXPECT_EQ(service_->num_open_uploads(), 0u);
  EXPECT_TRUE(Keys(store).empty());
}

TEST_F(S3StoreTest, AbortsWithOneRequestIfServiceIsUnreachable) {
  std::atomic<bool> is_out_of_reach{false};  // atomic, because parts are sent by threads
  std::atomic<int> num_aborts{0};
  network_->after = [&](const http::Request& request, Result<http::Response> response) -> Result<http::Response> {
    num_aborts += request.method == "DELETE" ? 1 : 0;
    if (is_out_of_reach) return Unavailable("no route");
    return response;
  };
  S3Store store = Store(network_);
  {
    const auto writer = store.Put("k");
    ASSERT_TRUE((*writer)->Write(BytesOf(Digits(500))).ok());
    is_out_of_reach = true;
    EXPECT_EQ((*writer)->Commit().code(), StatusCode::kUnavailable);
  }
  EXPECT_EQ(num_aborts.load(), 1);
}

TEST_F(S3StoreTest, DetectsErrorInSuccessResponse) {
  int num_errors = 0;
  network_->before = [&](const http::Request& request) -> std::optional<http::Response> {
    const bool is_completion = request.method == "POST" && request.url.find("uploadId") != std::string::npos;
    if (!is_completion || num_errors == 2) return std::nullopt;
    ++num_errors;
    return http::Response{200, {}, "<Error><Code>InternalError</Code><Message>m</Message></Error>", 0};
  };
  S3Store store = Store(network_);
  EXPECT_TRUE(PutText(store, "k", Digits(500)).ok());
  EXPECT_EQ(*store.Get("k"), Digits(500));
  num_errors = -100;
  EXPECT_EQ(PutText(store, "l", Digits(500)).code(), StatusCode::kUnavailable);
  EXPECT_THAT(Keys(store), ElementsAre("k"));
}

// An API that responds to every request with 200 and JSON, other XML, or an empty body.
TEST_F(S3StoreTest, RefusesOtherService) {
  const std::vector<http::Response> answers = {
      {200, {{"content-type", "application/json"}, {"etag", "W/\"b-x\""}, {"content-length", "11"}}, "{\"ok\":true}"},
      {200, {{"content-type", "text/xml"}, {"content-length", "17"}}, "<status>ok</status>"},
      {200, {{"content-length", "0"}}, ""}};
  const std::vector<std::pair<std::string, std::function<Status(S3Store&)>>> operations = {
      {"ListObjectsV2", [](S3Store& store) { return store.List("").status(); }},
      {"GetObject", [](S3Store& store) { return store.Get("k").status(); }},
      {"GetObject of a range",
       [](S3Store& store) {
         return store.GetRange("k", {0, 100}).status();
       }},
      {"HeadObject", [](S3Store& store) { return store.Head("k").status(); }},
      {"PutObject", [](S3Store& store) { return PutText(store, "k", "x"); }},
      {"PutObject if absent", [](S3Store& store) { return store.PutIfAbsent("k", BytesOf("x")); }},
      {"CreateMultipartUpload", [](S3Store& store) { return PutText(store, "k", Digits(500)); }},
      {"DeleteObjects", [](S3Store& store) {
         return store.DeleteMany(std::vector<std::string>{"k", "l"});
       }}};
  for (const http::Response& answer : answers) {
    for (const auto& [name, operation] : operations) {
      int num_requests = 0;
      network_->before = [&](const http::Request&) { return ++num_requests, answer; };
      S3Store store = Store(network_);
      const Status status = operation(store);
      EXPECT_EQ(status.code(), StatusCode::kUnimplemented) << name << " " << answer.body << status.ToString();
      EXPECT_THAT(status.message(), HasSubstr("http://s3.test: ")) << name;
      EXPECT_THAT(status.message(), HasSubstr("instead of an S3 service: check spec.storage.s3.endpoint")) << name;
      EXPECT_EQ(num_requests, 1) << name;
    }
  }
}

TEST_F(S3StoreTest, RefusesUploadResponsesOfOtherService) {
  for (const char* const method : {"PUT", "POST"}) {
    network_->before = [&](const http::Request& request) -> std::optional<http::Response> {
      if (request.method != method || request.url.find("uploadId") == std::string::npos) return std::nullopt;
      return http::Response{200, {{"content-type", "application/json"}}, "{}"};
    };
    S3Store store = Store(network_);
    EXPECT_EQ(PutText(store, "k", Digits(500)).code(), StatusCode::kUnimplemented) << method;
    EXPECT_THAT(Keys(store), IsEmpty());
    EXPECT_EQ(service_->num_open_uploads(), 0u);
  }
}

TEST_F(S3StoreTest, RecognizesOwnObjectAfterLostCompletion) {
  bool is_lost = false;
  network_->after = [&](const http::Request& request, Result<http::Response> response) -> Result<http::Response> {
    const bool is_completion = request.method == "POST" && request.url.find("uploadId") != std::string::npos;
    if (is_completion && !std::exchange(is_lost, true)) return Unavailable("reset");
    return response;
  };
  S3Store store = Store(network_);
  EXPECT_TRUE(PutText(store, "k", Digits(500)).ok());
  EXPECT_EQ(*store.Get("k"), Digits(500));
}

TEST_F(S3StoreTest, RecognizesOwnObjectAfterLostPutIfAbsent) {
  bool is_lost = false;
  network_->after = [&](const http::Request& request, Result<http::Response> response) -> Result<http::Response> {
    if (request.method == "PUT" && !std::exchange(is_lost, true)) return Unavailable("reset");
    return response;
  };
  S3Store store = Store(network_);
  EXPECT_TRUE(store.PutIfAbsent("k", BytesOf("mine")).ok());
  EXPECT_EQ(store.PutIfAbsent("k", BytesOf("mine")).code(), StatusCode::kAlreadyExists);
}

TEST_F(S3StoreTest, ReportsObjectOfOtherClient) {
  S3Store other = Store(service_);
  network_->before = [&](const http::Request& request) -> std::optional<http::Response> {
    // Another client writes the same bytes between the check and the request.
    const bool is_put = request.method == "PUT";
    EXPECT_TRUE(!is_put || other.PutIfAbsent("k", BytesOf("same")).ok());
    return std::nullopt;
  };
  S3Store store = Store(network_);
  EXPECT_EQ(store.PutIfAbsent("k", BytesOf("same")).code(), StatusCode::kAlreadyExists);
}

TEST_F(S3StoreTest, PutsIfAbsentWithoutConditionalRequests) {
  service_->set_conditions(FakeS3::Conditions::kRefused);
  S3Store store = Store(service_);
  EXPECT_TRUE(store.PutIfAbsent("k", BytesOf("first")).ok());
  EXPECT_EQ(store.PutIfAbsent("k", BytesOf("second")).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(*store.Get("k"), "first");
}

TEST_F(S3StoreTest, DetectsOverwriteWithoutConditionalRequests) {
  service_->set_conditions(FakeS3::Conditions::kRefused);
  S3Store other = Store(service_);
  bool is_unconditional = false;
  network_->after = [&](const http::Request& request, Result<http::Response> response) {
    if (request.method == "PUT" && response->status == 200 && !std::exchange(is_unconditional, true)) {
      EXPECT_TRUE(PutText(other, "k", "theirs").ok());
    }
    return response;
  };
  S3Store store = Store(network_);
  EXPECT_EQ(store.PutIfAbsent("k", BytesOf("mine")).code(), StatusCode::kAlreadyExists);
}

TEST_F(S3StoreTest, ListsPageByPage) {
  service_->set_page_size(7);
  S3Store store = Store(service_), neighbor = Store(service_, "jobs/10");
  ASSERT_TRUE(PutText(neighbor, "x", "").ok());
  for (int i = 10; i < 60; ++i) ASSERT_TRUE(PutText(store, "a b/" + std::to_string(i), "").ok());
  const std::vector<std::string> keys = Keys(store);
  ASSERT_EQ(keys.size(), 50u);
  EXPECT_EQ(keys.front(), "a b/10");
  EXPECT_EQ(keys.back(), "a b/59");
}

TEST_F(S3StoreTest, SkipsInvalidKeys) {
  auto script = std::make_shared<ScriptedTransport>();
  script->Answer(
      200,
      "<ListBucketResult><Contents><Key>jobs/1/a/</Key><Size>0</Size></Contents><Contents><Key>jobs/1/b//c</Key>"
      "<Size>0</Size></Contents><Contents><Key>jobs/1/d</Key><Size>1</Size></Contents></ListBucketResult>");
  S3Store store = Store(script);
  EXPECT_THAT(Keys(store), ElementsAre("d"));
}

TEST_F(S3StoreTest, EmptyListingIsNoError) {
  auto script = std::make_shared<ScriptedTransport>();
  script->Answer(404);
  EXPECT_EQ(Store(script).List("").status().code(), StatusCode::kUnimplemented);
  script->Answer(404, "", {{"x-amz-request-id", "R1"}});
  const Status status = Store(script).List("").status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("check the endpoint"));
}

TEST_F(S3StoreTest, DetectsCyclicListing) {
  auto script = std::make_shared<ScriptedTransport>();
  const std::string page =
      "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
      "<Contents><Key>jobs/1/d</Key><Size>1</Size></Contents></ListBucketResult>";
  script->Answer(200, page);
  script->Answer(200, page);
  S3Store store = Store(script);
  EXPECT_EQ(store.List("").status().code(), StatusCode::kDataLoss);
}

TEST_F(S3StoreTest, DeletesManyInOneRequest) {
  S3Store store = Store(service_);
  std::vector<std::string> keys;
  for (int i = 0; i < 1500; ++i) keys.push_back("a<&>/" + std::to_string(i));
  for (int i = 0; i < 1500; i += 100) ASSERT_TRUE(PutText(store, keys[static_cast<size_t>(i)], "x").ok());
  const int64_t before = service_->num_requests();
  EXPECT_TRUE(store.DeleteMany(keys).ok());
  EXPECT_EQ(service_->num_requests() - before, 2);
  EXPECT_TRUE(Keys(store).empty());
}

TEST_F(S3StoreTest, DeletingMissingObjectNeedsNoPermission) {
  network_->before = [](const http::Request& request) -> std::optional<http::Response> {
    if (request.method != "DELETE") return std::nullopt;
    return http::Response{403, {}, "<Error><Code>AccessDenied</Code><Message>m</Message></Error>", 0};
  };
  S3Store store = Store(network_);
  ASSERT_TRUE(PutText(store, "k", "x").ok());
  EXPECT_TRUE(store.Delete("nowhere").ok());
  EXPECT_EQ(store.Delete("k").code(), StatusCode::kPermissionDenied);
}

TEST_F(S3StoreTest, ReportsKeysThatWereNotDeleted) {
  auto script = std::make_shared<ScriptedTransport>();
  script->Answer(
      200,
      "<DeleteResult><Error><Key>jobs/1/a</Key><Code>AccessDenied</Code><Message>m</Message></Error></DeleteResult>");
  script->Answer(
      200,
      "<DeleteResult><Error><Key>jobs/1/a</Key><Code>InternalError</Code><Message>m</Message></Error></DeleteResult>");
  script->Answer(200, "<DeleteResult/>");
  S3Store store = Store(script);
  const Status denied = store.DeleteMany(std::vector<std::string>{"a", "b"});
  EXPECT_EQ(denied.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(denied.message(), HasSubstr("deleting jobs/1/a: the service responded with the error AccessDenied"));
  EXPECT_TRUE(store.DeleteMany(std::vector<std::string>{"a", "b"}).ok()) << "tried again";
}

TEST_F(S3StoreTest, RefusesResponseOfOtherRange) {
  auto script = std::make_shared<ScriptedTransport>();
  for (int i = 0; i < 10; ++i) script->Answer(206, "3456", {{"content-range", "bytes 4-7/10"}, {"etag", "\"1\""}});
  script->Answer(200, "0123");
  S3Store store = Store(script);
  EXPECT_EQ(store.GetRange("k", {3, 4}).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(store.GetRange("k", {3, 4}).status().code(), StatusCode::kUnimplemented) << "without ranges";
}

TEST_F(S3StoreTest, AllocatesNothingForMissingObject) {
  S3Store store = Store(service_);
  ASSERT_TRUE(PutText(store, "k", "0123456789").ok());
  EXPECT_EQ(store.GetRange("k", {0, uint64_t{1} << 62}).status().code(), StatusCode::kOutOfRange);
}

TEST_F(S3StoreTest, KeepsItsKeysBelowItsRoot) {
  S3Store store = Store(service_), bucket = Store(service_, "");
  ASSERT_TRUE(PutText(store, "a", "x").ok());
  EXPECT_EQ(*bucket.Get("jobs/1/a"), "x");
  EXPECT_EQ(store.Describe(), "s3://bucket/jobs/1");
  EXPECT_EQ(bucket.Describe(), "s3://bucket");
  EXPECT_EQ(store.Head(std::string(1020, 'k')).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(S3StoreTest, PassesItsFailpoints) {
  S3Store store = Store(service_);
  ASSERT_TRUE(
      ArmFailpoints("store.commit=error:UNAVAILABLE@1;store.put_part=error:UNAVAILABLE@2;store.get=error:DATA_LOSS@1")
          .ok());
  EXPECT_EQ(PutText(store, "k", "x").code(), StatusCode::kUnavailable);
  EXPECT_EQ(PutText(store, "k", Digits(500)).code(), StatusCode::kUnavailable);
  EXPECT_EQ(store.Get("k").status().code(), StatusCode::kDataLoss);
  ASSERT_TRUE(ArmFailpoints("").ok());
  EXPECT_TRUE(Keys(store).empty());
  EXPECT_EQ(service_->num_open_uploads(), 0u);
}

// 10 000 parts hold 5 TiB, and small objects need little memory.
TEST(PartSizesTest, HoldTheLargestObject) {
  const PartSizes sizes;
  uint64_t total = 0;
  for (int number = 1; number <= 10000; ++number) total += sizes.PartBytes(number);
  EXPECT_GE(total, uint64_t{5} << 40);
  EXPECT_LE(sizes.PartBytes(10000), uint64_t{5} << 30);
  EXPECT_EQ(PartSizes::MaxInFlight(sizes.PartBytes(1)), 3u);
  EXPECT_EQ(PartSizes::MaxInFlight(sizes.PartBytes(10000)), 1u);
}

// Makes the requests of a run, with small objects.
Status Work(S3Store& store) {
  for (int i = 0; i < 20; ++i) {
    const std::string key = "step-" + std::to_string(i) + "/", large = Digits(950);
    RETURN_IF_ERROR(PutText(store, key + "model", large));
    RETURN_IF_ERROR(PutText(store, key + "small", key));
    RETURN_IF_ERROR(store.PutIfAbsent(key + "manifest.json", BytesOf(key)));
    ASSIGN_OR_RETURN(const std::string all, store.Get(key + "model"));
    ASSIGN_OR_RETURN(const std::string part, store.GetRange(key + "model", {100, 300}));
    ASSIGN_OR_RETURN(const ObjectInfo info, store.Head(key + "model"));
    if (all != large || part != large.substr(100, 300) || info.size_bytes != large.size())
      return Internal("other bytes");
    if (i >= 2) RETURN_IF_ERROR(store.DeleteMany(std::vector<std::string>{key + "model", key + "small"}));
  }
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, store.List(""));
  return objects.size() == 20 + 4 ? Status() : Internal("lists " + std::to_string(objects.size()));
}

TEST_F(S3StoreTest, SucceedsWithThirtyPercentFaultsAndTwiceTheRequests) {
  S3Store calm = Store(service_);
  ASSERT_TRUE(Work(calm).ok());
  const int64_t ideal = service_->num_requests();
  int64_t total = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    FakeS3 service;
    auto network = std::make_shared<FaultyTransport>(service, 30, seed);
    S3Store store = Store(network);
    const Status status = Work(store);
    EXPECT_TRUE(status.ok()) << "seed " << seed << ": " << status.ToString();
    EXPECT_LE(network->num_requests(), 2 * ideal) << "seed " << seed;
    EXPECT_GT(network->num_faults(), ideal / 5);
    EXPECT_LE(service.num_open_uploads(), 20u);  // the response to their start was lost; lifecycle rules end them
    total += network->num_requests();
  }
  EXPECT_LT(static_cast<double>(total) / 20, 1.7 * static_cast<double>(ideal));
}

}  // namespace
}  // namespace espalier::storage
