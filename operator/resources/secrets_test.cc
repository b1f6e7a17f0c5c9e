// Tests the Secrets of a job: their certificates are valid for the role, are renewed in time, and invalid Secrets are
// detected.
#include "operator/resources/secrets.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "operator/resources/labels.h"
#include "operator/resources/testing/jobs.h"
#include "services/base/base64.h"
#include "services/pki/certificates.h"

namespace espalier::ctl::resources {
namespace {

using std::chrono::hours;

using kube::Json;
using testing::Job;
using testing::SmallJob;

class SecretsTest : public ::testing::Test {
 protected:
  Json Authority() { return *MakeAuthoritySecret(job_.context()); }
  Json Leaf(const Json& authority, api::Role role = api::Role::kServer) {
    return MakeTlsSecret(job_.context(), role, *ReadAuthoritySecret(authority))->secret;
  }

  Job job_ = SmallJob();
};

// Writes an entry of the Secret to a file, like the kubelet, and returns the path.
std::string WriteEntry(const Json& secret, const std::string& key) {
  const std::string path = ::testing::TempDir() + "/secrets-test-" + std::to_string(getpid()) + "-" + key;
  std::ofstream(path, std::ios::binary) << *DecodeBase64(secret["data"][key].get<std::string>());
  return path;
}

TEST_F(SecretsTest, CertificateIsValidForRole) {
  const Json authority = Authority();
  const std::pair<api::Role, pki::PeerRole> roles[] = {{api::Role::kPartitioner, pki::PeerRole::kPartitioner},
                                                       {api::Role::kServer, pki::PeerRole::kServer},
                                                       {api::Role::kSampler, pki::PeerRole::kSampler},
                                                       {api::Role::kTrainer, pki::PeerRole::kTrainer}};
  for (const auto& [role, peer_role] : roles) {
    const Json leaf = Leaf(authority, role);
    EXPECT_EQ(leaf["metadata"]["name"], std::string("cora-tls-") + api::ToString(role));
    const std::string ca = WriteEntry(leaf, "ca.crt");
    const std::string certificate = WriteEntry(leaf, "tls.crt");
    const std::string key = WriteEntry(leaf, "tls.key");
    const Status checked =
        pki::CheckCertificateFiles(ca, certificate, key, {{"ml", job_.training.meta.uid}, peer_role});
    EXPECT_TRUE(checked.ok()) << checked.ToString();
    for (const std::string& path : {ca, certificate, key}) std::filesystem::remove(path);
  }
}

TEST_F(SecretsTest, LeavesLastThirtyDaysAndAreRenewedAfterTwenty) {
  const auto before = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const auto facts = ParseCertificateFacts(Leaf(Authority()));
  const auto after = std::chrono::ceil<std::chrono::seconds>(std::chrono::system_clock::now());

  ASSERT_TRUE(facts.has_value());
  EXPECT_GE(facts->expires_at, before + hours(30 * 24));
  EXPECT_LE(facts->expires_at, after + hours(30 * 24));
  EXPECT_GE(RenewalTime(*facts), before + hours(20 * 24));
  EXPECT_LE(RenewalTime(*facts), after + hours(20 * 24));
}

TEST_F(SecretsTest, LeavesNameTheirAuthority) {
  const Json authority = Authority();
  const auto signer = ParseCertificateFacts(authority);
  ASSERT_TRUE(signer.has_value());
  EXPECT_GT(signer->expires_at, std::chrono::system_clock::now() + hours(24 * 365));
  EXPECT_EQ(ParseCertificateFacts(Leaf(authority))->authority, signer->authority);
  EXPECT_NE(ParseCertificateFacts(Leaf(Authority()))->authority, signer->authority);
}

// The facts that are returned with a new Secret equal those that parsing it returns.
TEST_F(SecretsTest, NewFactsEqualParsedFacts) {
  job_.training.meta.annotations[kRenewAnnotation] = "2026-01-02";
  const Json secret = Authority();
  const Result<resources::Authority> authority = ReadAuthoritySecret(secret);
  ASSERT_TRUE(authority.ok()) << authority.status().ToString();
  EXPECT_EQ(authority->facts, ParseCertificateFacts(secret));
  for (const api::Role role : api::kRoles) {
    const Result<TlsSecret> made = MakeTlsSecret(job_.context(), role, *authority);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    EXPECT_EQ(made->facts, ParseCertificateFacts(made->secret)) << api::ToString(role);
  }
}

TEST_F(SecretsTest, RecordRenewalAnnotation) {
  const Json authority = Authority();
  EXPECT_EQ(ParseCertificateFacts(Leaf(authority))->renewal, "");
  job_.training.meta.annotations[kRenewAnnotation] = "2026-01-02";
  EXPECT_EQ(ParseCertificateFacts(Leaf(authority))->renewal, "2026-01-02");
}

TEST_F(SecretsTest, UnusableSecretsHaveNoFacts) {
  const Json authority = Authority();
  const Json leaf = Leaf(authority);
  ASSERT_TRUE(ParseCertificateFacts(leaf).has_value());
  const auto broken = [&](const std::function<void(Json&)>& change) {
    Json secret = leaf;
    change(secret);
    return !ParseCertificateFacts(secret).has_value();
  };
  for (const char* const key : {"tls.crt", "tls.key", "ca.crt"}) {
    EXPECT_TRUE(broken([&](Json& s) { s["data"].erase(key); })) << key;
    EXPECT_TRUE(broken([&](Json& s) { s["data"][key] = "****"; })) << key;
    EXPECT_TRUE(broken([&](Json& s) { s["data"][key] = 7; })) << key;
    EXPECT_TRUE(broken([&](Json& s) { s["data"][key] = EncodeBase64("not PEM"); })) << key;
  }
  EXPECT_TRUE(broken([](Json& s) { s["data"] = "x"; }));
  EXPECT_TRUE(broken([](Json& s) { s.erase("data"); }));
  EXPECT_TRUE(broken([&](Json& s) { s["data"]["tls.key"] = Leaf(authority)["data"]["tls.key"]; })) << "another's key";
  EXPECT_TRUE(broken([&](Json& s) { s["data"]["ca.crt"] = Authority()["data"]["tls.crt"]; })) << "another's authority";
  EXPECT_TRUE(broken([](Json& s) { s["metadata"]["labels"][kComponentLabel] = "trainer"; })) << "another role's";
  EXPECT_TRUE(broken([](Json& s) { s["metadata"]["ownerReferences"][0]["uid"] = "other"; })) << "another job's";
  EXPECT_FALSE(ParseCertificateFacts(Json(nullptr)).has_value());
}

TEST_F(SecretsTest, SecretOfRoleMustNotContainAuthority) {
  const Json authority = Authority();
  Json secret = Leaf(authority);
  for (const char* const key : {"tls.crt", "tls.key"}) secret["data"][key] = authority["data"][key];
  EXPECT_FALSE(ParseCertificateFacts(secret).has_value());
}

TEST_F(SecretsTest, BrokenAuthorityCannotSign) {
  Json authority = Authority();
  authority["data"]["tls.key"] = Authority()["data"]["tls.key"];
  EXPECT_EQ(ReadAuthoritySecret(authority).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadAuthoritySecret(Json::object()).status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace espalier::ctl::resources
