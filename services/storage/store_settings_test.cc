#include "services/storage/store_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/storage/open_store.h"

namespace espalier::storage {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StoreSettingsTest, ReadsVariablesOfAwsTools) {
  const Result<StoreSettings> settings = ParseStoreSettings({{"AWS_ENDPOINT_URL_S3", "https://s3.test"},
                                                             {"AWS_ENDPOINT_URL", "https://other.test"},
                                                             {"AWS_DEFAULT_REGION", "eu-west-1"},
                                                             {"AWS_CA_BUNDLE", "/ca.pem"},
                                                             {"AWS_ACCESS_KEY_ID", "id"},
                                                             {"AWS_SECRET_ACCESS_KEY", "secret"},
                                                             {"AWS_SESSION_TOKEN", "token"},
                                                             {"AWS_PROFILE", "cora"},
                                                             {"HOME", "/home/me"},
                                                             {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x"},
                                                             {"AWS_REQUEST_CHECKSUM_CALCULATION", "WHEN_REQUIRED"},
                                                             {"AWS_RESPONSE_CHECKSUM_VALIDATION", "when_required"},
                                                             {"ESPALIER_S3_ADDRESSING", "virtual-host"},
                                                             {"ESPALIER_S3_INSTANCE_METADATA", "true"},
                                                             {"ESPALIER_S3_PATIENCE_SECONDS", "7"}});
  ASSERT_TRUE(settings.ok()) << settings.status().ToString();
  const S3Settings& s3 = settings->s3;
  EXPECT_EQ(s3.endpoint, "https://s3.test");
  EXPECT_EQ(s3.region, "eu-west-1");
  EXPECT_EQ(s3.ca_file, "/ca.pem");
  EXPECT_EQ(s3.addressing, S3Addressing::kVirtualHost);
  EXPECT_EQ(s3.credentials.access_key_id, "id");
  EXPECT_EQ(s3.credentials.secret_access_key.Reveal(), "secret");
  EXPECT_EQ(s3.credentials.session_token.Reveal(), "token");
  EXPECT_EQ(s3.credentials.profile, "cora");
  EXPECT_EQ(s3.credentials.default_shared_file, "/home/me/.aws/credentials");
  EXPECT_EQ(s3.credentials.config_file, "/home/me/.aws/config");
  EXPECT_EQ(s3.request_checksums, S3Checksums::kWhenRequired);
  EXPECT_EQ(s3.response_checksums, S3Checksums::kWhenRequired);
  EXPECT_EQ(s3.credentials.container_uri, "http://169.254.170.2/v2/x");
  EXPECT_TRUE(s3.credentials.instance_metadata);
  EXPECT_EQ(s3.patience, std::chrono::seconds(7));
}

TEST(StoreSettingsTest, HasDefaults) {
  const Result<StoreSettings> settings = ParseStoreSettings({{"AWS_REGION", ""}});
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->s3.region, "us-east-1");
  EXPECT_EQ(settings->s3.endpoint, "");
  EXPECT_EQ(settings->s3.request_checksums, S3Checksums::kWhenSupported);
  EXPECT_EQ(settings->s3.response_checksums, S3Checksums::kWhenSupported);
  EXPECT_EQ(settings->s3.addressing, S3Addressing::kPath);
  EXPECT_FALSE(settings->s3.credentials.instance_metadata);
  EXPECT_EQ(settings->s3.patience, std::chrono::seconds(30));
}

TEST(StoreSettingsTest, NamesInvalidVariable) {
  const auto message = [](const std::map<std::string, std::string>& environment) {
    const Status status = ParseStoreSettings(environment).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), Not(HasSubstr("hush")));
    return status.message();
  };
  EXPECT_THAT(message({{"AWS_ACCESS_KEY_ID", "id"}}), HasSubstr("AWS_SECRET_ACCESS_KEY is not"));
  EXPECT_THAT(message({{"AWS_SECRET_ACCESS_KEY", "hush"}}), HasSubstr("AWS_ACCESS_KEY_ID is not"));
  EXPECT_THAT(message({{"AWS_ACCESS_KEY_ID", "id"}, {"AWS_SECRET_ACCESS_KEY", "hush\n"}}),
              HasSubstr("AWS_SECRET_ACCESS_KEY"));
  EXPECT_THAT(message({{"ESPALIER_S3_ADDRESSING", "dns"}}), HasSubstr("ESPALIER_S3_ADDRESSING is 'dns'"));
  EXPECT_THAT(message({{"AWS_REQUEST_CHECKSUM_CALCULATION", "never"}}),
              HasSubstr("AWS_REQUEST_CHECKSUM_CALCULATION is 'never'; expected when_supported or when_required"));
  EXPECT_THAT(message({{"ESPALIER_S3_INSTANCE_METADATA", "yes"}}), HasSubstr("ESPALIER_S3_INSTANCE_METADATA"));
  EXPECT_THAT(message({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "v2/x"}}),
              HasSubstr("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI must start with '/'"));
  for (const char* seconds : {"0", "-1", "3601", "40s", "1.5", "99999999999999999999"}) {
    EXPECT_THAT(message({{"ESPALIER_S3_PATIENCE_SECONDS", seconds}}),
                HasSubstr(std::string("ESPALIER_S3_PATIENCE_SECONDS is '") + seconds + "'"));
  }
}

StoreSettings WithKeys() {
  StoreSettings settings;
  settings.s3.credentials.access_key_id = "id";
  settings.s3.credentials.secret_access_key = telemetry::Secret("hush");
  return settings;
}

TEST(OpenS3StoreTest, RootsTheStoreAtThePrefix) {
  const Result<StoreLocation> location = OpenStore("s3://graphs/ogb/cora/", WithKeys());
  ASSERT_TRUE(location.ok()) << location.status().ToString();
  EXPECT_EQ(location->store->Describe(), "s3://graphs/ogb/cora");
  EXPECT_EQ(location->prefix, "");
  EXPECT_EQ(OpenStore("s3://graphs", WithKeys())->store->Describe(), "s3://graphs");
  EXPECT_EQ(OpenStore("s3://graphs/", WithKeys())->store->Describe(), "s3://graphs");
}

TEST(OpenS3StoreTest, RefusesInvalidBucketPrefixAndSetting) {
  for (const char* uri :
       {"s3://", "s3:///x", "s3://-graphs/x", "s3://graphs/a//b", "s3://graphs/../x", "s3://graphs//"}) {
    const Status status = OpenStore(uri, WithKeys()).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << uri;
    EXPECT_THAT(status.message(), HasSubstr(uri));
  }
  StoreSettings settings = WithKeys();
  settings.s3.ca_file = "/no/such/file";
  EXPECT_EQ(OpenStore("s3://graphs", settings).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(OpenStore("s3://graphs", {}).status().code(), StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace espalier::storage
