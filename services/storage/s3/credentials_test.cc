#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "services/storage/s3/credential_sources.h"
#include "services/storage/testing/scripted_transport.h"
#include "services/storage/testing/temporary_folder.h"

namespace espalier::storage {
namespace {

using std::chrono::seconds;
using telemetry::Secret;
using ::testing::HasSubstr;
using ::testing::Not;

const Deadline kSoon = Deadline::After(std::chrono::minutes(1));

std::string WriteText(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

// Returns credentials with a new ID and a fixed validity at every fetch, or fails.
class CountingSource final : public CredentialSource {
 public:
  std::string Describe() const override { return "test"; }
  bool IsRenewable() const override { return true; }
  Result<Credentials> Fetch(Deadline) override {
    ++num_fetches;
    if (fails) return Unavailable("no");
    return Credentials{"id" + std::to_string(num_fetches), Secret("s"), Secret("t"), expires};
  }
  int num_fetches = 0;
  bool fails = false;
  WallTime expires{};
};

class CredentialCacheTest : public ::testing::Test {
 protected:
  CredentialCacheTest() {
    auto source = std::make_unique<CountingSource>();
    source_ = source.get();
    source_->expires = now_ + seconds(3600);
    cache_ = std::make_unique<CredentialCache>(std::move(source), [this] { return now_; });
  }
  std::string Id() {
    const Result<Credentials> credentials = cache_->Get(kSoon);
    return credentials.ok() ? credentials->access_key_id : credentials.status().ToString();
  }
  WallTime now_{seconds(1'800'000'000)};
  CountingSource* source_;
  std::unique_ptr<CredentialCache> cache_;
};

TEST_F(CredentialCacheTest, FetchesAgainFiveMinutesBeforeExpiry) {
  EXPECT_EQ(Id(), "id1");
  now_ += seconds(3600 - 301);
  EXPECT_EQ(Id(), "id1");
  now_ += seconds(2);
  source_->expires = now_ + seconds(3600);
  EXPECT_EQ(Id(), "id2");
}

TEST_F(CredentialCacheTest, KeepsValidCredentialsWhileRefreshFails) {
  EXPECT_EQ(Id(), "id1");
  now_ += seconds(3400);
  source_->fails = true;
  EXPECT_EQ(Id(), "id1");
  EXPECT_EQ(Id(), "id1");
  EXPECT_EQ(source_->num_fetches, 2) << "not again at once";
  now_ += seconds(31);
  EXPECT_EQ(Id(), "id1");
  EXPECT_EQ(source_->num_fetches, 3);
  now_ += seconds(200);
  EXPECT_THAT(Id(), HasSubstr("UNAVAILABLE"));
}

TEST_F(CredentialCacheTest, DropsRefusedCredentials) {
  EXPECT_EQ(Id(), "id1");
  EXPECT_TRUE(cache_->DiscardRejected("id1"));
  EXPECT_EQ(Id(), "id2");
  EXPECT_TRUE(cache_->DiscardRejected("id1")) << "another thread's news is old";
  EXPECT_EQ(Id(), "id2");
}

TEST_F(CredentialCacheTest, RefusesExpiredCredentials) {
  source_->expires = now_ - seconds(1);
  EXPECT_THAT(Id(), HasSubstr("PERMISSION_DENIED"));
}

TEST(CredentialCacheFixedTest, CannotRenewSettings) {
  CredentialCache cache(MakeFixedSource({.access_key_id = "id", .secret_access_key = Secret("s")}), SystemTime);
  EXPECT_TRUE(cache.Get(kSoon).ok());
  EXPECT_FALSE(cache.DiscardRejected("id"));
}

TEST(SharedFileTest, ReadsTheProfile) {
  const TemporaryFolder folder;
  const std::string path =
      WriteText(folder.path() + "/credentials",
                "[default]\naws_access_key_id=A\naws_secret_access_key=B\n\n# comment\n[ cora ]\r\n"
                "aws_access_key_id = C\r\naws_secret_access_key = D=/+\naws_session_token=E\nregion=x\n");
  const Result<Credentials> cora = MakeSharedFileSource(path, "cora")->Fetch(kSoon);
  ASSERT_TRUE(cora.ok()) << cora.status().ToString();
  EXPECT_EQ(cora->access_key_id, "C");
  EXPECT_EQ(cora->secret_access_key.Reveal(), "D=/+");
  EXPECT_EQ(cora->session_token.Reveal(), "E");
  EXPECT_EQ(MakeSharedFileSource(path, "default")->Fetch(kSoon)->access_key_id, "A");
  EXPECT_THAT(MakeSharedFileSource(path, "other")->Fetch(kSoon).status().message(), HasSubstr("[other]"));
  EXPECT_EQ(MakeSharedFileSource(path + "x", "cora")->Fetch(kSoon).status().code(), StatusCode::kNotFound);
}

TEST(WebIdentityTest, ExchangesTokenForCredentials) {
  const TemporaryFolder folder;
  ScriptedTransport sts;
  sts.Answer(200,
             "<AssumeRoleWithWebIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
             "<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>s</"
             "SecretAccessKey>"
             "<SessionToken>t</SessionToken><Expiration>2027-01-02T03:04:05Z</Expiration></Credentials>"
             "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>");
  sts.Answer(400,
             "<ErrorResponse><Error><Code>ExpiredTokenException</Code><Message>Token jwt2 "
             "expired</Message></Error></ErrorResponse>");
  sts.Answer(200, "<AssumeRoleWithWebIdentityResponse/>");
  S3Settings settings{.region = "eu-west-1"};
  settings.credentials.web_identity_token_file = WriteText(folder.path() + "/token", "jwt1.a+b\n");
  settings.credentials.role_arn = "arn:aws:iam::1:role/cora";
  const std::unique_ptr<CredentialSource> source = MakeWebIdentitySource(settings, sts);

  const Result<Credentials> credentials = source->Fetch(kSoon);
  ASSERT_TRUE(credentials.ok()) << credentials.status().ToString();
  EXPECT_EQ(credentials->access_key_id, "ASIA1");
  EXPECT_EQ(credentials->expires, ParseExtendedUtc("2027-01-02T03:04:05Z"));
  EXPECT_EQ(sts.sent()[0].url, "https://sts.eu-west-1.amazonaws.com/");
  EXPECT_EQ(sts.sent()[0].body,
            "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fcora&RoleSessionName=espalier&"
            "Version=2011-06-15&WebIdentityToken=jwt1.a%2Bb");

  WriteText(settings.credentials.web_identity_token_file, "jwt2");
  const Status refused = source->Fetch(kSoon).status();
  EXPECT_THAT(sts.sent()[1].body, HasSubstr("WebIdentityToken=jwt2")) << "the file is read anew";
  EXPECT_THAT(refused.message(), HasSubstr("ExpiredTokenException"));
  EXPECT_THAT(refused.message(), Not(HasSubstr("jwt2")));
  EXPECT_EQ(source->Fetch(kSoon).status().code(), StatusCode::kDataLoss);
}

// A rejection concerns the credentials (exit code 77) or is transient (74). It never counts as bad input (65), which
// ends a job.
TEST(WebIdentityTest, DistinguishesTransientAndPermanentErrors) {
  const TemporaryFolder folder;
  ScriptedTransport sts;
  const auto answer = [&sts](int status, const std::string& code, const std::string& message) {
    sts.Answer(status, "<ErrorResponse><Error><Code>" + code + "</Code><Message>" + message +
                           "</Message></Error></ErrorResponse>");
  };
  answer(400, "InvalidIdentityToken", "Couldn't retrieve verification key from your identity provider, ...");
  answer(400, "IDPCommunicationError", "m");
  answer(503, "ServiceUnavailable", "m");
  answer(400, "InvalidIdentityToken", "No OpenIDConnect provider found in your account for https://idp.test");
  answer(400, "ValidationError", "m");
  answer(403, "AccessDenied", "m");
  S3Settings settings{.region = "eu-west-1"};
  settings.credentials.web_identity_token_file = WriteText(folder.path() + "/token", "jwt\n");
  const std::unique_ptr<CredentialSource> source = MakeWebIdentitySource(settings, sts);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(source->Fetch(kSoon).status().code(), StatusCode::kUnavailable) << i;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(source->Fetch(kSoon).status().code(), StatusCode::kPermissionDenied) << i;
}

const char* const kJson =
    R"({"AccessKeyId":"A","SecretAccessKey":"B","Token":"C","Expiration":"2027-01-02T03:04:05Z"})";

TEST(ContainerTest, SendsItsTokenToTheAgent) {
  const TemporaryFolder folder;
  ScriptedTransport agent;
  agent.Answer(200, kJson);
  agent.Answer(500);
  agent.Answer(200, "[]");
  const S3CredentialSettings settings{.container_uri = "http://169.254.170.23/v1/credentials",
                                      .container_token_file = WriteText(folder.path() + "/token", "hush\n")};
  const std::unique_ptr<CredentialSource> source = *MakeContainerSource(settings, agent);

  const Result<Credentials> credentials = source->Fetch(kSoon);
  ASSERT_TRUE(credentials.ok()) << credentials.status().ToString();
  EXPECT_EQ(credentials->session_token.Reveal(), "C");
  EXPECT_EQ(agent.sent()[0].Header("authorization"), "hush");
  EXPECT_EQ(agent.sent()[0].proxy, http::ProxyUse::kNone);
  EXPECT_EQ(source->Fetch(kSoon).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(source->Fetch(kSoon).status().code(), StatusCode::kDataLoss);
}

TEST(ContainerTest, SendsNoTokenInPlaintextToOtherHosts) {
  ScriptedTransport agent;
  for (const char* uri : {"http://example.com/x", "http://127.example.com/x", "http://169.254.169.254/x", "nonsense"}) {
    EXPECT_EQ(MakeContainerSource({.container_uri = uri}, agent).status().code(), StatusCode::kInvalidArgument) << uri;
  }
  for (const char* uri :
       {"https://example.com/x", "http://127.0.0.1:8080/x", "http://[::1]/x", "http://[fd00:ec2::23]/x"}) {
    EXPECT_TRUE(MakeContainerSource({.container_uri = uri}, agent).ok()) << uri;
  }
}

TEST(InstanceMetadataTest, OpensASessionFirst) {
  ScriptedTransport machine;
  machine.Answer(200, "session");
  machine.Answer(200, "cora-role\n");
  machine.Answer(200, std::string(R"({"Code":"Success",)") + (kJson + 1));
  const Result<Credentials> credentials = MakeInstanceMetadataSource(machine)->Fetch(kSoon);
  ASSERT_TRUE(credentials.ok()) << credentials.status().ToString();
  EXPECT_EQ(credentials->access_key_id, "A");
  EXPECT_EQ(machine.sent()[0].method, "PUT");
  EXPECT_EQ(machine.sent()[2].url, "http://169.254.169.254/latest/meta-data/iam/security-credentials/cora-role");
  EXPECT_EQ(machine.sent()[2].Header("x-aws-ec2-metadata-token"), "session");
}

std::string SourceFor(const S3CredentialSettings& credentials) {
  ScriptedTransport unused;
  Result<std::unique_ptr<CredentialSource>> source = MakeCredentialSource({.credentials = credentials}, unused);
  EXPECT_TRUE(unused.sent().empty());
  return source.ok() ? (*source)->Describe() : source.status().ToString();
}

TEST(CredentialOrderTest, UsesFirstConfiguredSource) {
  const TemporaryFolder folder;
  S3CredentialSettings all{.access_key_id = "id",
                           .secret_access_key = Secret("s"),
                           .shared_file = "/shared",
                           .default_shared_file = folder.path() + "/credentials",
                           .web_identity_token_file = "/token",
                           .role_arn = "arn:1",
                           .container_uri = "http://127.0.0.1/x",
                           .instance_metadata = true};
  EXPECT_THAT(SourceFor(all), HasSubstr("AWS_ACCESS_KEY_ID"));
  all.access_key_id = "";
  EXPECT_THAT(SourceFor(all), HasSubstr("shared file /shared"));
  all.shared_file = "";
  EXPECT_THAT(SourceFor(all), HasSubstr("web identity of role arn:1")) << "there is no file ~/.aws/credentials";
  WriteText(all.default_shared_file, "[default]\naws_access_key_id=A\naws_secret_access_key=B\n");
  EXPECT_THAT(SourceFor(all), HasSubstr("shared file " + all.default_shared_file));
  all.profile = "other";
  EXPECT_THAT(SourceFor(all), HasSubstr("web identity"));
  all.web_identity_token_file = "";
  EXPECT_THAT(SourceFor(all), HasSubstr("container endpoint at 127.0.0.1"));
  all.container_uri = "";
  EXPECT_EQ(SourceFor(all), "instance metadata");
  all.instance_metadata = false;
  EXPECT_THAT(SourceFor(all), HasSubstr("FAILED_PRECONDITION: there are no credentials"));
}

// ~/.aws/config with settings that the AWS tools support and this process does not.
TEST(CredentialOrderTest, NamesAProfileThatItCannotUse) {
  const TemporaryFolder folder;
  ScriptedTransport transport;
  S3Settings settings;
  settings.credentials.default_shared_file = folder.path() + "/credentials";
  settings.credentials.config_file =
      WriteText(folder.path() + "/config",
                "[default]\nregion = eu-west-1\n[profile lab]\nsso_session = lab\n[profile tool]\ncredential_process = "
                "/bin/keys\n[profile admin]\nrole_arn = arn:x\nsource_profile = lab\n[profile keys]\n"
                "aws_access_key_id = AK\naws_secret_access_key = SK\n");
  const auto message = [&](const std::string& profile) {
    settings.credentials.profile = profile;
    const auto source = MakeCredentialSource(settings, transport);
    EXPECT_EQ(source.status().code(), StatusCode::kFailedPrecondition);
    return source.status().message();
  };
  EXPECT_THAT(message("lab"), HasSubstr("Profile lab of " + folder.path() + "/config has SSO, which is not supported"));
  EXPECT_THAT(message("lab"), HasSubstr("aws configure export-credentials --profile lab --format env"));
  EXPECT_THAT(message("tool"), HasSubstr("has credential_process"));
  EXPECT_THAT(message("admin"), HasSubstr("has a role to assume"));
  EXPECT_THAT(message("default"), Not(HasSubstr("Profile")));
  EXPECT_THAT(message("nowhere"), Not(HasSubstr("Profile")));

  settings.credentials.profile = "keys";
  const auto source = MakeCredentialSource(settings, transport);
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ((*source)->Fetch(kSoon)->access_key_id, "AK");
  settings.credentials.shared_file = settings.credentials.config_file;
  settings.credentials.profile = "tool";
  const Status chosen = (*MakeCredentialSource(settings, transport))->Fetch(kSoon).status();
  EXPECT_THAT(chosen.message(), HasSubstr("it has credential_process, which is not supported"));
}

TEST(CredentialOrderTest, RefusesIncompleteConfiguration) {
  EXPECT_THAT(SourceFor({.web_identity_token_file = "/token"}), HasSubstr("AWS_ROLE_ARN"));
  EXPECT_THAT(SourceFor({.web_identity_token_file = "/token", .role_arn = "a", .sts_endpoint = "sts"}),
              HasSubstr("AWS_ENDPOINT_URL_STS"));
}

}  // namespace
}  // namespace espalier::storage
