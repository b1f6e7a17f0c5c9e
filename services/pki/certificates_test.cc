// Tests new certificates, and the errors of the check of certificate files before the first connection.
#include "services/pki/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "services/pki/testing/certificate_folder.h"

namespace espalier::pki {
namespace {

using std::chrono::hours;
using ::testing::AllOf;
using testing::CertificateFolder;
using ::testing::HasSubstr;
using testing::kTestJob;

Status CheckOf(const CertificateFolder& folder, PeerRole role) {
  return CheckCertificateFiles(folder.CaFile(), folder.CertificateFile(role), folder.KeyFile(role), {kTestJob, role});
}

TEST(PeerIdentityTest, RoundTripsThroughUri) {
  const PeerIdentity identity{{"team-a", "5d1e"}, PeerRole::kSampler};
  EXPECT_EQ(ToSpiffeUri(identity), "spiffe://espalier/team-a/5d1e/sampler");
  for (const PeerRole role : kPeerRoles) {
    const auto parsed = ParseSpiffeUri(ToSpiffeUri({kTestJob, role}));
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ(*parsed, (PeerIdentity{kTestJob, role}));
  }
}

TEST(PeerIdentityTest, RefusesOtherUris) {
  for (const char* uri :
       {"", "spiffe://espalier/", "spiffe://espalier/a/b", "spiffe://espalier/a/b/c", "spiffe://other/a/b/server",
        "https://espalier/a/b/server", "spiffe://espalier/a/b/c/server", "spiffe://espalier//b/server",
        "spiffe://espalier/a/b/server/", "spiffe://espalier/a b/c/server", "spiffe://espalier/server"}) {
    EXPECT_EQ(ParseSpiffeUri(uri).status().code(), StatusCode::kInvalidArgument) << uri;
  }
  EXPECT_EQ(ParseJobIdentity("default").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ParseJobIdentity("default/a/b").status().code(), StatusCode::kInvalidArgument);
}

TEST(PeerIdentityTest, IsCheckedAgainstJobAndRole) {
  const std::vector<PeerRole> roles = {PeerRole::kSampler, PeerRole::kTrainer};
  const auto check = [&](std::vector<std::string> uris) { return CheckPeer(uris, kTestJob, roles).status(); };
  EXPECT_TRUE(check({"spiffe://espalier/default/0a1b2c/trainer"}).ok());
  EXPECT_EQ(check({"spiffe://espalier/default/other/trainer"}),
            Status(StatusCode::kPermissionDenied, "a trainer of job default/other, but this is job default/0a1b2c"));
  EXPECT_EQ(check({"spiffe://espalier/default/0a1b2c/server"}),
            Status(StatusCode::kPermissionDenied, "a server where a sampler or trainer is expected"));
  EXPECT_EQ(check({}).code(), StatusCode::kUnauthenticated);
  EXPECT_EQ(check({"spiffe://espalier/default/0a1b2c/trainer", "spiffe://espalier/default/0a1b2c/trainer"}).code(),
            StatusCode::kUnauthenticated);
  EXPECT_EQ(check({"urn:x"}).code(), StatusCode::kUnauthenticated);
}

TEST(CertificatesTest, OfNewAuthorityAreValid) {
  CertificateFolder folder;
  for (const PeerRole role : kPeerRoles) {
    folder.Issue(role,
                 {.identity = {kTestJob, role}, .dns_names = {"cora.default"}, .ip_addresses = {"127.0.0.1", "::1"}});
    EXPECT_TRUE(CheckOf(folder, role).ok()) << CheckOf(folder, role).ToString();
  }
}

TEST(CertificatesTest, ErrorsNameProblem) {
  CertificateFolder folder;
  const PeerRole role = PeerRole::kServer;
  EXPECT_EQ(CheckOf(folder, role).code(), StatusCode::kNotFound);

  folder.Issue(role, {.identity = {kTestJob, role}, .valid_since = hours(3), .valid_for = -hours(1)});
  EXPECT_THAT(CheckOf(folder, role).message(), AllOf(HasSubstr("tls.crt"), HasSubstr("expired")));
  folder.Issue(role, {.identity = {kTestJob, role}, .valid_since = -hours(1)});
  EXPECT_THAT(CheckOf(folder, role).message(), HasSubstr("not yet valid"));
  folder.Issue(role, {.identity = {{"default", "other"}, role}});
  EXPECT_THAT(CheckOf(folder, role).message(), HasSubstr("of job default/other"));
  folder.Issue(role, {.identity = {kTestJob, PeerRole::kTrainer}});
  EXPECT_EQ(CheckOf(folder, role).code(), StatusCode::kPermissionDenied);

  folder.Issue(role);
  folder.Issue(PeerRole::kTrainer);
  EXPECT_THAT(CheckCertificateFiles(folder.CaFile(), folder.CertificateFile(role), folder.KeyFile(PeerRole::kTrainer),
                                    {kTestJob, role})
                  .message(),
              HasSubstr("is not the key of"));
  const CertificateFolder other;
  EXPECT_THAT(
      CheckCertificateFiles(other.CaFile(), folder.CertificateFile(role), folder.KeyFile(role), {kTestJob, role})
          .message(),
      HasSubstr(other.CaFile()));
  EXPECT_THAT(
      CheckCertificateFiles(folder.KeyFile(role), folder.CertificateFile(role), folder.KeyFile(role), {kTestJob, role})
          .message(),
      HasSubstr("expected certificates in PEM"));
}

TEST(CertificatesTest, RefuseUnsupportedNames) {
  const CertificateFolder folder;
  for (const char* name : {"", "a,DNS:b", "a b", "x\n"}) {
    const auto leaf = IssueLeaf(folder.authority(), {.identity = {kTestJob, PeerRole::kServer}, .dns_names = {name}});
    EXPECT_EQ(leaf.status().code(), StatusCode::kInvalidArgument) << name;
  }
  for (const char* address : {"", "localhost", "127.0.0", "1.2.3.4,DNS:b"}) {
    const auto leaf =
        IssueLeaf(folder.authority(), {.identity = {kTestJob, PeerRole::kServer}, .ip_addresses = {address}});
    EXPECT_EQ(leaf.status().code(), StatusCode::kInvalidArgument) << address;
  }
  const auto orphan = IssueLeaf({telemetry::Secret("x"), "y"}, {.identity = {kTestJob, PeerRole::kServer}});
  EXPECT_EQ(orphan.status().code(), StatusCode::kInvalidArgument);
}

TEST(CertificatesTest, LeafCannotSign) {
  CertificateFolder folder;
  const auto leaf = IssueLeaf(folder.authority(), {.identity = {kTestJob, PeerRole::kServer}});
  ASSERT_TRUE(leaf.ok());
  const auto child = IssueLeaf(*leaf, {.identity = {kTestJob, PeerRole::kServer}});
  ASSERT_TRUE(child.ok());
  folder.Issue(PeerRole::kServer);
  std::ofstream(folder.CertificateFile(PeerRole::kServer)) << child->certificate_pem << leaf->certificate_pem;
  std::ofstream(folder.KeyFile(PeerRole::kServer)) << child->key_pem.Reveal();
  EXPECT_EQ(CheckOf(folder, PeerRole::kServer).code(), StatusCode::kUnauthenticated);
}

}  // namespace
}  // namespace espalier::pki
