#include "services/daemon/certificate_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "services/rpc/testing/tls_folder.h"

namespace espalier::daemon {
namespace {

constexpr char kName[] = "espalier_tls_certificate_expiry_timestamp_seconds";

// Returns the metric's value in the text format; -1 if there is none.
double ExpiryIn(const std::string& text) {
  const std::string start = std::string("\n") + kName + " ";
  const size_t at = text.find(start);
  return at == std::string::npos ? -1 : std::stod(text.substr(at + start.size()));
}

double UnixNow() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

TEST(CertificateMetricsTest, ReportExpiryOfFileAtEachScrape) {
  rpc::testing::TlsFolder folder;
  const pki::PeerRole role = pki::PeerRole::kServer;
  folder.Issue(role);
  TlsFlags flags;
  flags.certificate_file = folder.CertificateFile(role);
  telemetry::MetricRegistry registry;
  const std::shared_ptr<void> watch = WatchCertificateExpiry(flags, registry);

  const double expiry = ExpiryIn(registry.Serialize());
  EXPECT_GT(expiry, UnixNow());
  EXPECT_LT(expiry, UnixNow() + 86400 * 366);

  // While the file is incomplete, the previous value remains.
  std::ofstream(flags.certificate_file) << "-----BEGIN CERT";
  EXPECT_EQ(ExpiryIn(registry.Serialize()), expiry);
}

TEST(CertificateMetricsTest, AreAbsentWithoutCertificates) {
  telemetry::MetricRegistry registry;
  EXPECT_EQ(WatchCertificateExpiry({}, registry), nullptr);
  EXPECT_THAT(registry.Serialize(), ::testing::Not(::testing::HasSubstr(kName)));
}

}  // namespace
}  // namespace espalier::daemon
