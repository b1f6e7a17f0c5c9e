// Tests the metrics port with TLS clients that verify its certificate, and connections that do not speak TLS.
#include "operator/metrics_port/metrics_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/metrics_port/testing/fake_reviews.h"
#include "services/http/curl_transport.h"
#include "services/pki/testing/certificate_folder.h"
#include "services/telemetry/testing/raw_connection.h"

namespace espalier::ctl::metrics_port {
namespace {

using pki::PeerRole;
using ::testing::HasSubstr;
using ::testing::Not;

class MetricsPortTest : public ::testing::Test {
 protected:
  MetricsPortTest() {
    folder_.Issue(PeerRole::kOperator, MakeLeaf());
    reviews_.AddToken("scraper-token", "prometheus");
    reviews_.Allow("prometheus");
    registry_.AddCounter("espalier_test_things_total", "Things.").Add(3);
  }

  static pki::LeafOptions MakeLeaf() {
    return {.identity = {pki::testing::kTestJob, PeerRole::kOperator}, .ip_addresses = {"127.0.0.1"}};
  }
  CertificateFiles Files() const {
    return {folder_.CertificateFile(PeerRole::kOperator), folder_.KeyFile(PeerRole::kOperator)};
  }
  std::unique_ptr<MetricsPort> Start(const CertificateFiles& files) {
    Result<std::unique_ptr<MetricsPort>> started = MetricsPort::Start({.certificate = files}, reviews_, registry_);
    ESPALIER_CHECK(started.ok()) << started.status().ToString();
    return *std::move(started);
  }
  // Verifies the server's certificate by the folder's authority.
  Result<http::Response> Get(const MetricsPort& port, const std::string& path, const std::string& token) {
    http::CurlTransport transport({.ca_file = folder_.CaFile()});
    http::Request request;
    request.method = "GET";
    request.url = "https://" + port.address() + path;
    if (!token.empty()) request.headers = {{"Authorization", "Bearer " + token}};
    return transport.Send(request, {.deadline = Deadline::After(std::chrono::seconds(30))});
  }

  pki::testing::CertificateFolder folder_;
  FakeReviews reviews_;
  telemetry::MetricRegistry registry_;
};

TEST_F(MetricsPortTest, ServesMetricsToATokenThatMayGetThem) {
  const std::unique_ptr<MetricsPort> port = Start(Files());
  const Result<http::Response> response = Get(*port, "/metrics", "scraper-token");
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->status, 200);
  EXPECT_THAT(response->body, HasSubstr("espalier_test_things_total 3\n"));
}

TEST_F(MetricsPortTest, RefusesRequestsWithoutATokenAndServesNothingElse) {
  const std::unique_ptr<MetricsPort> port = Start(Files());
  EXPECT_EQ(Get(*port, "/metrics", "")->status, 401);
  EXPECT_EQ(Get(*port, "/status", "")->status, 401);
  EXPECT_EQ(Get(*port, "/status", "scraper-token")->status, 404);
  EXPECT_EQ(Get(*port, "/readyz?wait", "scraper-token")->body, "try /metrics\n");
}

TEST_F(MetricsPortTest, SendsALargeResponseWhole) {
  for (int i = 0; i < 20000; ++i) {
    registry_.AddCounter("espalier_test_many_total", "Many.", {{"number", std::to_string(i)}}).Add();
  }
  const std::unique_ptr<MetricsPort> port = Start(Files());
  const Result<http::Response> response = Get(*port, "/metrics", "scraper-token");
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(response->body.size(), registry_.Serialize().size());
}

TEST_F(MetricsPortTest, UsesACertificateThatReplacesTheFirstOne) {
  const std::unique_ptr<MetricsPort> port = Start(Files());
  EXPECT_TRUE(Get(*port, "/metrics", "scraper-token").ok());
  pki::LeafOptions other = MakeLeaf();
  other.ip_addresses = {"127.0.0.2"};  // which this client refuses
  folder_.Issue(PeerRole::kOperator, other);
  EXPECT_FALSE(Get(*port, "/metrics", "scraper-token").ok());
  folder_.Issue(PeerRole::kOperator, MakeLeaf());
  EXPECT_TRUE(Get(*port, "/metrics", "scraper-token").ok());
}

TEST_F(MetricsPortTest, MakesACertificateThatClientsCannotVerify) {
  const std::unique_ptr<MetricsPort> port = Start({});
  EXPECT_FALSE(Get(*port, "/metrics", "scraper-token").ok());
}

TEST_F(MetricsPortTest, ClosesAConnectionThatDoesNotSpeakTls) {
  const std::unique_ptr<MetricsPort> port = Start(Files());
  telemetry::RawConnection plain(port->address());
  plain.Send("GET /metrics HTTP/1.1\r\nAuthorization: Bearer scraper-token\r\n\r\n");
  EXPECT_THAT(plain.ReceiveAll(), Not(HasSubstr("espalier_")));
  EXPECT_EQ(reviews_.num_requests(), 0);
  EXPECT_TRUE(Get(*port, "/metrics", "scraper-token").ok());
}

TEST_F(MetricsPortTest, NamesInvalidCertificateFile) {
  const auto start = [&](const CertificateFiles& files) {
    return MetricsPort::Start({.certificate = files}, reviews_, registry_).status();
  };
  const std::string certificate = folder_.CertificateFile(PeerRole::kOperator);
  const std::string key = folder_.KeyFile(PeerRole::kOperator);
  EXPECT_EQ(start({"/nowhere/tls.crt", key}).code(), StatusCode::kNotFound);
  EXPECT_EQ(start({key, key}), InvalidArgument(key + " and " + key + ": expected a valid PEM certificate"));
  EXPECT_EQ(start({certificate, certificate}), InvalidArgument(certificate + " and " + certificate +
                                                               ": expected a PEM private key that is not encrypted"));
  EXPECT_EQ(start({folder_.CaFile(), key}),
            InvalidArgument(folder_.CaFile() + " and " + key + ": the key is of another certificate"));
}

}  // namespace
}  // namespace espalier::ctl::metrics_port
