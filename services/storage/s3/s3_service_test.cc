// S3Store and the transport against a real service, with and without TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/storage/http/curl_transport.h"
#include "services/storage/open_store.h"
#include "services/storage/s3/credential_sources.h"
#include "services/storage/s3/s3_store.h"
#include "services/storage/testing/object_store_suite.h"
#include "services/storage/testing/test_certificate.h"
#include "services/storage/testing/versitygw.h"

namespace espalier::storage {
namespace {

// One server each for the whole program: starting takes longer than testing.
Versitygw& Server(Versitygw::Tls tls) {
  const auto start = [](Versitygw::Tls which) {
    Result<std::unique_ptr<Versitygw>> server = Versitygw::Start(Versitygw::Program(), which);
    ESPALIER_CHECK(server.ok()) << server.status().ToString();
    return *std::move(server);
  };
  static std::unique_ptr<Versitygw> plain, secure;
  std::unique_ptr<Versitygw>& server = tls == Versitygw::Tls::kOn ? secure : plain;
  if (server == nullptr) server = start(tls);
  return *server;
}

// An empty store: a prefix that nobody else uses.
std::shared_ptr<ObjectStore> NewStore(Versitygw::Tls tls) {
  static int number = 0;
  const Versitygw& server = Server(tls);
  const std::string uri = "s3://" + server.bucket() + "/store-" + std::to_string(number++);
  const Result<StoreLocation> location = OpenStore(uri, {.s3 = server.settings()});
  ESPALIER_CHECK(location.ok()) << location.status().ToString();
  return location->store;
}

std::vector<StoreCase> Cases() {
  if (Versitygw::Program().empty()) return {};
  return {StoreCase{"Plain", [] { return NewStore(Versitygw::Tls::kOff); }, PutIfAbsentRace::kLastWins},
          StoreCase{"Tls", [] { return NewStore(Versitygw::Tls::kOn); }, PutIfAbsentRace::kLastWins}};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ObjectStoreSuite);
INSTANTIATE_TEST_SUITE_P(Versitygw, ObjectStoreSuite, ::testing::ValuesIn(Cases()),
                         [](const auto& instance) { return instance.param.name; });

// On one server, with and without TLS.
class VersitygwTest : public ::testing::TestWithParam<Versitygw::Tls> {
 protected:
  void SetUp() override {
    if (Versitygw::Program().empty()) {
      GTEST_SKIP() << "not tested against a real S3 service: ESPALIER_VERSITYGW names no program "
                      "(services/cmake/install-test-tools.sh builds it)";
    }
  }
  Status Attempt(const S3Settings& settings) {
    const std::string uri = "s3://" + Server(GetParam()).bucket() + "/attempt";
    return PutText(*OpenStore(uri, {.s3 = settings})->store, "k", "x");
  }

  const TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Service, VersitygwTest, ::testing::Values(Versitygw::Tls::kOff, Versitygw::Tls::kOn),
                         [](const auto& instance) {
                           return std::string(instance.param == Versitygw::Tls::kOn ? "Tls" : "Plain");
                         });

TEST_P(VersitygwTest, ListsMoreThanAPage) {
  const std::shared_ptr<ObjectStore> store = NewStore(GetParam());
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

TEST_P(VersitygwTest, ReadsRangesInManyThreads) {
  const std::shared_ptr<ObjectStore> store = NewStore(GetParam());
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

TEST_P(VersitygwTest, KeepsTheChecksumOfAnObjectOfManyParts) {
  const S3Settings& settings = Server(GetParam()).settings();
  const auto client =
      std::make_shared<S3Client>(std::make_shared<CurlTransport>(CurlOptions{.ca_file = settings.ca_file}),
                                 FixedCredentials(settings.credentials));
  const S3Bucket bucket = *MakeS3Bucket(Server(GetParam()).bucket(), settings);
  S3Store store(client, bucket, "checksum", {.first_bytes = uint64_t{5} << 20});
  const std::string text(size_t{11} << 20, 'x');
  ASSERT_TRUE(PutText(store, "k", text).ok());

  const Result<HttpResponse> response = client->Send(
      bucket, {.request = GetObjectRequest("checksum/k"), .doing = "reading", .max_body_bytes = text.size()});

  ASSERT_TRUE(response.ok()) << response.status().ToString();
  ASSERT_NE(response->Header("x-amz-checksum-crc32"), nullptr);
  EXPECT_EQ(*response->Header("x-amz-checksum-crc32"), EncodedCrc32(Crc32Of(BytesOf(text))));
}

TEST_P(VersitygwTest, RefusesWrongCredentials) {
  S3Settings settings = Server(GetParam()).settings();
  settings.credentials.secret_access_key = telemetry::Secret("hush");
  const Status wrong_secret = Attempt(settings);
  EXPECT_EQ(wrong_secret.code(), StatusCode::kPermissionDenied) << wrong_secret.ToString();
  EXPECT_THAT(wrong_secret.message(), ::testing::HasSubstr("SignatureDoesNotMatch"));
  EXPECT_THAT(wrong_secret.message(), ::testing::Not(::testing::HasSubstr("hush")));
  settings.credentials.access_key_id = "nobody";
  const Status wrong_id = Attempt(settings);
  EXPECT_EQ(wrong_id.code(), StatusCode::kPermissionDenied) << wrong_id.ToString();
}

TEST_P(VersitygwTest, NamesTheBucketThatDoesNotExist) {
  const Result<StoreLocation> location = OpenStore("s3://no-such-bucket", {.s3 = Server(GetParam()).settings()});
  const Status status = location->store->Get("k").status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.ToString();
  EXPECT_THAT(status.message(), ::testing::HasSubstr("no-such-bucket"));
}

TEST_P(VersitygwTest, TrustsOnlyTheCertificatesOfItsCaFile) {
  // The other server's is as good as this one's, but not of the file; without TLS a CA file changes nothing.
  S3Settings settings = Server(GetParam()).settings();
  const Result<TestCertificate> other = MakeTestCertificate(folder_.path());
  ASSERT_TRUE(other.ok()) << other.status().ToString();
  settings.ca_file = other->certificate_file;
  const Status status = Attempt(settings);
  if (GetParam() == Versitygw::Tls::kOff) {
    EXPECT_TRUE(status.ok()) << status.ToString();
  } else {
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.ToString();
    EXPECT_THAT(status.message(), ::testing::HasSubstr("certificate"));
  }
}

}  // namespace
}  // namespace espalier::storage
