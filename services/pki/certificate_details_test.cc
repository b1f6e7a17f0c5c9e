#include "services/pki/certificate_details.h"

#include <gtest/gtest.h>

#include "services/pki/testing/certificate_folder.h"

namespace espalier::pki {
namespace {

using std::chrono::hours;
using testing::kTestJob;

KeyAndCertificate Authority() { return *MakeCertificateAuthority("test", hours(24)); }

KeyAndCertificate LeafOf(const KeyAndCertificate& authority, std::chrono::seconds valid_for = hours(24)) {
  return *IssueLeaf(authority, {.identity = {kTestJob, PeerRole::kServer}, .valid_for = valid_for});
}

TEST(CertificateDetailsTest, MatchIssuedCertificate) {
  const KeyAndCertificate authority = Authority();
  const auto before = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const KeyAndCertificate leaf = LeafOf(authority, hours(5));
  const auto after = std::chrono::ceil<std::chrono::seconds>(std::chrono::system_clock::now());

  const auto details = ParseDetails(leaf);

  ASSERT_TRUE(details.ok()) << details.status().ToString();
  EXPECT_GE(details->expires_at, before + hours(5));
  EXPECT_LE(details->expires_at, after + hours(5));
  EXPECT_EQ(details->uri_names, std::vector<std::string>{"spiffe://espalier/default/0a1b2c/server"});
  EXPECT_FALSE(details->is_authority);
  EXPECT_TRUE(ParseDetails(authority)->is_authority);
}

TEST(CertificateDetailsTest, FingerprintDependsOnlyOnCertificate) {
  const KeyAndCertificate authority = Authority();
  EXPECT_EQ(ParseDetails(authority)->fingerprint.size(), 64u);
  EXPECT_EQ(ParseDetails(authority)->fingerprint, ParseDetails(authority.certificate_pem)->fingerprint);
  EXPECT_NE(ParseDetails(LeafOf(authority))->fingerprint, ParseDetails(LeafOf(authority))->fingerprint);
}

TEST(CertificateDetailsTest, RefuseMismatchedPair) {
  const KeyAndCertificate authority = Authority();
  const KeyAndCertificate leaf = LeafOf(authority);
  for (const KeyAndCertificate& broken :
       {KeyAndCertificate{authority.key_pem, leaf.certificate_pem}, KeyAndCertificate{telemetry::Secret(""), "x"},
        KeyAndCertificate{telemetry::Secret("x"), leaf.certificate_pem},
        KeyAndCertificate{leaf.key_pem, leaf.certificate_pem.substr(0, 200)}}) {
    EXPECT_EQ(ParseDetails(broken).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(CertificateDetailsTest, CheckIssuer) {
  const KeyAndCertificate authority = Authority();
  const KeyAndCertificate other = Authority();
  const KeyAndCertificate leaf = LeafOf(authority);
  EXPECT_TRUE(CheckSignedBy(leaf.certificate_pem, authority.certificate_pem).ok());
  EXPECT_EQ(CheckSignedBy(leaf.certificate_pem, other.certificate_pem).code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(CheckSignedBy("", authority.certificate_pem).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace espalier::pki
