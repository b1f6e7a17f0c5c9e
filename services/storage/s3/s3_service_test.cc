// Tests S3Store and the transport against services: real ones, with and without TLS, and a mock of stores with quirks.
// docs/object-storage.md describes the results.
//
// To test another service, set AWS_ENDPOINT_URL_S3, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
// ESPALIER_S3_TEST_URI=s3://bucket/prefix, and run
//   build/release/bin/espalier_s3_service_test --gtest_filter='*Endpoint*'
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "services/base/environment.h"
#include "services/http/curl_transport.h"
#include "services/storage/open_store.h"
#include "services/storage/s3/credential_sources.h"
#include "services/storage/s3/s3_store.h"
#include "services/storage/testing/object_store_suite.h"
#include "services/storage/testing/s3_server.h"
#include "services/storage/testing/test_certificate.h"

namespace espalier::storage {
namespace {

using ServerMaker = std::function<Result<std::unique_ptr<S3Server>>()>;

// A service under test. It starts at its first use and runs until the program ends, because its start takes longer than
// a test.
struct Service {
  std::string name;
  ServerMaker start;  // null: the service of the environment
  bool is_real = true;
  bool keeps_object_checksums = true;

  S3Server& server() const {
    static std::map<std::string, std::unique_ptr<S3Server>> servers;
    std::unique_ptr<S3Server>& server = servers[name];
    if (server == nullptr) {
      Result<std::unique_ptr<S3Server>> started = start();
      ESPALIER_CHECK(started.ok()) << name << ": " << started.status().ToString();
      server = *std::move(started);
    }
    return *server;
  }
  S3Settings settings() const {
    if (start != nullptr) return server().settings();
    const Result<StoreSettings> of_environment = ParseStoreSettings(ReadEnvironment());
    ESPALIER_CHECK(of_environment.ok()) << of_environment.status().ToString();
    return of_environment->s3;
  }
  std::string uri() const {
    return start != nullptr ? "s3://" + server().bucket() : std::getenv("ESPALIER_S3_TEST_URI");
  }

  // Returns an empty store: a prefix that neither another test nor an earlier run of this program uses.
  std::shared_ptr<ObjectStore> NewStore() const {
    const Result<StoreLocation> location = OpenStore(uri() + "/test-" + MakeWriterName(), {.s3 = settings()});
    ESPALIER_CHECK(location.ok()) << location.status().ToString();
    return location->store;
  }
};

void PrintTo(const Service& service, std::ostream* out) { *out << service.name; }

ServerMaker Mock(const std::string& quirks) {
  return [quirks] { return S3Server::StartMock(quirks); };
}

std::vector<Service> Services() {
  std::vector<Service> services = {
      {.name = "MockPlain", .start = Mock("plain"), .is_real = false},
      {.name = "MockWithoutChecksums",
       .start = Mock("no-checksums,no-checksum-mode"),
       .is_real = false,
       .keeps_object_checksums = false},
      {.name = "MockOfCompositeChecksums",
       .start = Mock("composite-only"),
       .is_real = false,
       .keeps_object_checksums = false},
      {.name = "MockInAnotherRegion", .start = Mock("region=eu-central-1"), .is_real = false},
      {.name = "MockInAnUnnamedRegion", .start = Mock("silent-region=garage"), .is_real = false}};
  if (const std::string program = S3Server::FindVersitygw(); !program.empty()) {
    services.push_back(
        {.name = "Plain", .start = [=] { return S3Server::StartVersitygw(program, S3Server::Tls::kOff); }});
    services.push_back({.name = "Tls", .start = [=] { return S3Server::StartVersitygw(program, S3Server::Tls::kOn); }});
  }
  const std::string java = S3Server::FindJava(), jar = S3Server::FindS3Proxy();
  if (!java.empty() && !jar.empty()) {
    services.push_back({.name = "S3Proxy",
                        .start = [=] { return S3Server::StartS3Proxy(java, jar); },
                        .keeps_object_checksums = false});
  }
  if (const char* uri = std::getenv("ESPALIER_S3_TEST_URI"); uri != nullptr && *uri != '\0') {
    services.push_back({.name = "Endpoint", .start = nullptr, .keeps_object_checksums = false});
  }
  return services;
}

std::vector<StoreCase> Cases() {
  std::vector<StoreCase> cases;
  for (const Service& service : Services()) {
    cases.push_back(StoreCase{service.name, [=] { return service.NewStore(); },
                              service.is_real ? PutIfAbsentRace::kLastWins : PutIfAbsentRace::kOneWins});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(S3, ObjectStoreSuite, ::testing::ValuesIn(Cases()),
                         [](const auto& instance) { return instance.param.name; });

class S3ServiceTest : public ::testing::TestWithParam<Service> {
 protected:
  Status Attempt(const S3Settings& settings) {
    return PutText(*OpenStore(GetParam().uri() + "/attempt", {.s3 = settings})->store, "k", "x");
  }

  const TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(S3, S3ServiceTest, ::testing::ValuesIn(Services()),
                         [](const auto& instance) { return instance.param.name; });

TEST(S3ServicesTest, AreAllThere) {
  if (S3Server::FindVersitygw().empty()) {
    GTEST_SKIP() << "not tested against versitygw: ESPALIER_VERSITYGW names no program (e2e/tools/build.sh s3)";
  }
  if (S3Server::FindJava().empty() || S3Server::FindS3Proxy().empty()) {
    GTEST_SKIP()
        << "not tested against S3Proxy: there is no java, or ESPALIER_S3PROXY names no jar (e2e/tools/build.sh "
           "s3proxy)";
  }
}

TEST_P(S3ServiceTest, ListsMoreThanAPage) {
  const std::shared_ptr<ObjectStore> store = GetParam().NewStore();
  if (!GetParam().is_real) GTEST_SKIP() << "the mock lists all in one page";
  constexpr int kNumThreads = 4, kNumEach = 260;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kNumThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kNumEach; ++i) {
          EXPECT_TRUE(PutText(*store, "a b/" + std::to_string(t) + "/" + std::to_string(i), "x").ok());
        }
      });
    }
  }
  const Result<std::vector<ObjectInfo>> objects = store->List("");
  ASSERT_TRUE(objects.ok()) << objects.status().ToString();
  ASSERT_EQ(objects->size(), size_t{kNumThreads * kNumEach});
  std::vector<std::string> keys;
  for (const ObjectInfo& object : *objects) keys.push_back(object.key);
  EXPECT_TRUE(store->DeleteMany(keys).ok());
  EXPECT_TRUE(store->List("")->empty());
}

TEST_P(S3ServiceTest, ReadsRangesInManyThreads) {
  const std::shared_ptr<ObjectStore> store = GetParam().NewStore();
  std::string text(size_t{8} << 20, '\0'), out(text.size(), '-');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 2654435761u >> 11);
  ASSERT_TRUE(PutText(*store, "k", text).ok());
  constexpr size_t kNumThreads = 4, kPieceBytes = 256 << 10;
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < kNumThreads; ++t) {
      threads.emplace_back([&, t] {
        for (size_t at = t * kPieceBytes; at < text.size(); at += kNumThreads * kPieceBytes) {
          const auto place = std::as_writable_bytes(std::span(out).subspan(at, kPieceBytes));
          EXPECT_TRUE(store->ReadRange("k", {at, kPieceBytes}, place).ok());
        }
      });
    }
  }
  EXPECT_TRUE(out == text);
}

TEST_P(S3ServiceTest, KeepsTheChecksumOfAnObjectOfManyParts) {
  if (!GetParam().keeps_object_checksums) GTEST_SKIP() << "the service keeps none";
  const S3Settings settings = GetParam().settings();
  const auto client =
      std::make_shared<S3Client>(std::make_shared<http::CurlTransport>(http::CurlOptions{.ca_file = settings.ca_file}),
                                 MakeFixedSource(settings.credentials));
  const S3Bucket bucket = *MakeS3Bucket(GetParam().server().bucket(), settings);
  S3Store store(client, bucket, "checksum", {.first_bytes = uint64_t{5} << 20});
  const std::string text(size_t{11} << 20, 'x');
  ASSERT_TRUE(PutText(store, "k", text).ok());

  const Result<http::Response> response = client->Send(
      bucket, {.request = GetObjectRequest("checksum/k"), .doing = "reading", .max_body_bytes = text.size()});

  ASSERT_TRUE(response.ok()) << response.status().ToString();
  ASSERT_NE(response->Header("x-amz-checksum-crc32"), nullptr);
  EXPECT_EQ(*response->Header("x-amz-checksum-crc32"), EncodeCrc32(ComputeCrc32(BytesOf(text))));
}

TEST_P(S3ServiceTest, RefusesWrongCredentials) {
  if (!GetParam().is_real) GTEST_SKIP() << "the mock verifies no signatures";
  S3Settings settings = GetParam().settings();
  settings.credentials.session_token = telemetry::Secret();
  if (settings.credentials.access_key_id.empty()) GTEST_SKIP() << "the credentials are not in the environment";
  settings.credentials.secret_access_key = telemetry::Secret("hush");
  const Status wrong_secret = Attempt(settings);
  EXPECT_EQ(wrong_secret.code(), StatusCode::kPermissionDenied) << wrong_secret.ToString();
  EXPECT_THAT(wrong_secret.message(), ::testing::Not(::testing::HasSubstr("hush")));
  settings.credentials.access_key_id = "nobody";
  const Status wrong_id = Attempt(settings);
  EXPECT_EQ(wrong_id.code(), StatusCode::kPermissionDenied) << wrong_id.ToString();
}

TEST_P(S3ServiceTest, NamesTheBucketThatDoesNotExist) {
  const std::string uri = "s3://espalier-no-such-bucket";
  const Result<StoreLocation> location = OpenStore(uri, {.s3 = GetParam().settings()});
  for (const Status& status : {location->store->Get("k").status(), location->store->Head("k").status(),
                               location->store->PutIfAbsent("k", BytesOf("x")), location->store->List("").status()}) {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.ToString();
    EXPECT_THAT(status.message(), ::testing::HasSubstr("espalier-no-such-bucket"));
    EXPECT_THAT(status.message(), ::testing::HasSubstr("create the bucket first"));
  }
}

TEST_P(S3ServiceTest, FailsAtOnceWithTheWrongScheme) {
  if (GetParam().start == nullptr || !GetParam().is_real) GTEST_SKIP() << "a service of these tests, and a real one";
  S3Settings settings = GetParam().settings();
  const bool is_secure = settings.endpoint.starts_with("https");
  settings.endpoint = is_secure ? "http" + settings.endpoint.substr(5) : "https" + settings.endpoint.substr(4);
  settings.patience = std::chrono::seconds(1);  // bounds the time of a test that fails
  const Status status = Attempt(settings);
  EXPECT_THAT(status.message(), ::testing::HasSubstr(is_secure ? "https://" : "use http://")) << status.ToString();
  EXPECT_THAT(status.message(), ::testing::Not(::testing::HasSubstr("gave up"))) << status.ToString();
}

TEST_P(S3ServiceTest, TrustsOnlyTheCertificatesOfItsCaFile) {
  if (GetParam().start == nullptr) GTEST_SKIP() << "the certificates of a service of these tests";
  // The CA file has a valid certificate, but not that of the server. Without TLS, a CA file has no effect.
  S3Settings settings = GetParam().settings();
  const bool is_secure = settings.endpoint.starts_with("https");
  const Result<TestCertificate> other = MakeTestCertificate(folder_.path());
  ASSERT_TRUE(other.ok()) << other.status().ToString();
  settings.ca_file = other->certificate_file;
  const Status status = Attempt(settings);
  if (!is_secure) {
    EXPECT_TRUE(status.ok()) << status.ToString();
  } else {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.ToString();
    EXPECT_THAT(status.message(), ::testing::HasSubstr("certificate"));
  }
}

}  // namespace
}  // namespace espalier::storage
