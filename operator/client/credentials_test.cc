// Tests when credentials in files are read again, and that the old ones stay in use while new ones are invalid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "operator/client/bearer_token.h"
#include "operator/client/certificate_pair.h"
#include "operator/client/connection.h"
#include "services/base/file.h"
#include "services/base/testing/fake_clock.h"
#include "services/base/testing/soon.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::ctl::client {
namespace {

using std::chrono::seconds;
using telemetry::Secret;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kTestData = std::string(ESPALIER_SOURCE_DIR) + "/operator/client/testdata/";

std::string TestFile(const std::string& name) { return *ReadFile(kTestData + name, 1 << 20, FileKinds::kRegular); }

class CredentialFilesTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) const { std::ofstream(Path(name)) << text; }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string Token(CredentialsSource& source) const {
    const Result<Credentials> credentials = source.Get(Soon());
    return credentials.ok() ? credentials->bearer_token.Reveal() : credentials.status().ToString();
  }
  storage::TemporaryFolder folder_;
  FakeClock clock_;
};

TEST_F(CredentialFilesTest, ReadsATokenAgainEveryMinute) {
  Write("token", "t1\n");
  const auto source = MakeTokenFileSource(Path("token"), clock_);
  EXPECT_EQ(Token(*source), "t1") << "without its newline";
  Write("token", "t2\n");
  clock_.Advance(seconds(59));
  EXPECT_EQ(Token(*source), "t1");
  clock_.Advance(seconds(1));
  EXPECT_EQ(Token(*source), "t2");
}

TEST_F(CredentialFilesTest, ReadsATokenAgainAfterARejection) {
  Write("token", "t1");
  const auto source = MakeTokenFileSource(Path("token"), clock_);
  EXPECT_EQ(Token(*source), "t1");
  Write("token", "t2");
  source->Reject();
  EXPECT_EQ(Token(*source), "t2");
}

TEST_F(CredentialFilesTest, KeepsTheOldTokenWhileTheFileCannotBeRead) {
  Write("token", "t1");
  const auto source = MakeTokenFileSource(Path("token"), clock_);
  EXPECT_EQ(Token(*source), "t1");
  for (const char* text : {"", " \n", "t2\nt3\n"}) {
    Write("token", text);
    source->Reject();
    EXPECT_EQ(Token(*source), "t1") << text;
  }
  std::filesystem::remove(Path("token"));
  clock_.Advance(seconds(60));
  EXPECT_EQ(Token(*source), "t1");
  Write("token", "t4");
  clock_.Advance(seconds(5));
  EXPECT_EQ(Token(*source), "t4") << "sooner than after a good read";
}

TEST_F(CredentialFilesTest, FirstReadReturnsError) {
  const auto source = MakeTokenFileSource(Path("token"), clock_);
  EXPECT_EQ(Token(*source), "NOT_FOUND: opening " + Path("token") + ": No such file or directory");
  Write("token", "two words");
  EXPECT_EQ(Token(*source), "INVALID_ARGUMENT: " + Path("token") +
                                ": the token contains white space, or characters that are not printable ASCII");
  Write("token", "t1");
  EXPECT_EQ(Token(*source), "t1") << "at once";
}

TEST_F(CredentialFilesTest, KeepsTheOldCertificateUntilTheNewPairIsWhole) {
  Write("crt", TestFile("client.crt"));
  Write("key", TestFile("client.key"));
  const auto source = MakeCertificateFileSource(Path("crt"), Path("key"), clock_);
  const Result<Credentials> first = source->Get(Soon());
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_EQ(first->client_key_pem.Reveal(), TestFile("client.key"));
  Write("key", TestFile("other.key"));  // does not match the certificate, which is not replaced yet
  clock_.Advance(seconds(60));
  const Result<Credentials> second = source->Get(Soon());
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(HaveSameCertificate(*first, *second));
  const Result<Credentials> fresh = MakeCertificateFileSource(Path("crt"), Path("key"), clock_)->Get(Soon());
  EXPECT_THAT(fresh.status().message(), HasSubstr("the private key is not that of the certificate"));
}

TEST(CredentialsTest, CombinesTokenAndCertificate) {
  const auto both = CombineTokenAndCertificate(
      MakeFixedCredentials({.bearer_token = Secret("t"), .client_certificate_pem = "ignored"}),
      MakeFixedCredentials(
          {.bearer_token = Secret("ignored"), .client_certificate_pem = "c", .client_key_pem = Secret("k")}));
  const Result<Credentials> credentials = both->Get(Soon());
  ASSERT_TRUE(credentials.ok());
  EXPECT_EQ(credentials->bearer_token.Reveal(), "t");
  EXPECT_EQ(credentials->client_certificate_pem, "c");
  EXPECT_EQ(credentials->client_key_pem.Reveal(), "k");
}

TEST(CredentialsTest, ComparesCertificatesAndNotTokens) {
  const Credentials a{.bearer_token = Secret("1"), .client_certificate_pem = "c", .client_key_pem = Secret("k")};
  Credentials b = a;
  b.bearer_token = Secret("2");
  EXPECT_TRUE(HaveSameCertificate(a, b));
  b.client_key_pem = Secret("other");
  EXPECT_FALSE(HaveSameCertificate(a, b));
}

TEST(BearerTokenTest, IsTrimmedAndValidated) {
  EXPECT_EQ(ParseBearerToken(" \r\nabc.def-_~+/=\n")->Reveal(), "abc.def-_~+/=");
  for (const char* text : {"", "\n", "a b", "a\nb", "a\r\nX: y", "a\tb", "a\x7f", "\xc3\xa4"}) {
    EXPECT_EQ(ParseBearerToken(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_FALSE(ParseBearerToken(std::string_view("a\0b", 3)).ok());
  EXPECT_THAT(ParseBearerToken("hunter2 x").status().message(), Not(HasSubstr("hunter2")));
}

TEST(CertificatePairTest, RefusesMismatchedPair) {
  const std::string certificate = TestFile("client.crt");
  EXPECT_TRUE(CheckCertificatePair(certificate, TestFile("client.key")).ok());
  EXPECT_EQ(CheckCertificatePair(certificate, TestFile("other.key")).message(),
            "the private key is not that of the certificate");
  EXPECT_EQ(CheckCertificatePair(certificate, TestFile("locked.key")).message(),
            "expected a PEM private key that is not encrypted");
  EXPECT_EQ(CheckCertificatePair("", TestFile("client.key")).message(), "no PEM certificate");
  EXPECT_EQ(CheckCertificatePair(TestFile("client.key"), TestFile("client.key")).message(), "no PEM certificate");
  EXPECT_EQ(CheckCertificatePair(certificate, certificate).message(),
            "expected a PEM private key that is not encrypted");
}

}  // namespace
}  // namespace espalier::ctl::client
