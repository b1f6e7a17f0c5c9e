#include "services/client/session/initialize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::client {
namespace {

using ::testing::HasSubstr;

TEST(InitializeTest, ReadsTheEnvironment) {
  const auto context = Initialize({{"ESPALIER_SERVERS", "a:1,b:2"},
                                   {"ESPALIER_RANK", "1"},
                                   {"ESPALIER_WORLD_SIZE", "3"},
                                   {"ESPALIER_INCARNATION", "4"},
                                   {"ESPALIER_JOB_NAME", "nightly"},
                                   {"ESPALIER_SAMPLERS", "c:3,sampler-[0-1]:4"},
                                   {"ESPALIER_ACCESS", "mapped"},
                                   {"PATH", "/bin"}});
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  EXPECT_THAT(context->session.addresses, ::testing::ElementsAre("a:1", "b:2"));
  EXPECT_EQ(context->rank, Rank(1));
  EXPECT_EQ(context->world_size, 3u);
  EXPECT_EQ(context->session.incarnation, 4u);
  EXPECT_EQ(context->session.job, "nightly");
  EXPECT_THAT(context->samplers, ::testing::ElementsAre("c:3", "sampler-0:4", "sampler-1:4"));
  EXPECT_EQ(context->session.access, Access::kMapped);
}

TEST(InitializeTest, NamesInvalidVariable) {
  const Environment good = {{"ESPALIER_SERVERS", "a:1"}};
  const std::pair<const char*, const char*> wrong[] = {{"ESPALIER_SERVERS", ""},
                                                       {"ESPALIER_RANK", "x"},
                                                       {"ESPALIER_RANK", "1"},
                                                       {"ESPALIER_WORLD_SIZE", "0"},
                                                       {"ESPALIER_WORLD_SIZE", "-1"},
                                                       {"ESPALIER_ACCESS", "carrier"},
                                                       {"ESPALIER_CALL_SECONDS", "s"},
                                                       {"ESPALIER_INCARNATION", "1.5"},
                                                       {"ESPALIER_JOB_NAME", "a/b"},
                                                       {"ESPALIER_INSECURE_LISTEN_ANY", "perhaps"},
                                                       {"ESPALIER_SAMPLERS", "a-[2-1]:1"}};
  for (const auto& [name, value] : wrong) {
    Environment environment = good;
    environment[name] = value;
    const auto context = Initialize(environment);
    ASSERT_EQ(context.status().code(), StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(context.status().message(), HasSubstr(name));
  }
}

TEST(InitializeTest, PartitionsReplaceServers) {
  const auto context = Initialize(
      {{"ESPALIER_PARTITIONS", "parts/KEY"}, {"ESPALIER_DATA_DIR", "/var/cache/mine"}, {"AWS_REGION", "eu-north-1"}});
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  EXPECT_EQ(context->session.standalone.partitions_uri, "parts/KEY");
  EXPECT_EQ(context->session.standalone.cache.folder, "/var/cache/mine");
  EXPECT_EQ(context->session.standalone.stores.s3.region, "eu-north-1");
  EXPECT_THAT(Initialize({}).status().message(), HasSubstr("ESPALIER_SERVERS and ESPALIER_PARTITIONS are not set"));
  EXPECT_THAT(Initialize({{"ESPALIER_PARTITIONS", "parts/KEY"}, {"ESPALIER_SERVERS", "a:1"}}).status().message(),
              HasSubstr("are both set"));
  EXPECT_THAT(Initialize({{"ESPALIER_PARTITIONS", "parts/KEY"}, {"ESPALIER_WORLD_SIZE", "2"}}).status().message(),
              HasSubstr("only the process that opens partitions can use them"));
}

TEST(InitializeTest, ManyServersInFewCharacters) {
  const auto context = Initialize({{"ESPALIER_SERVERS", "server-[0-2].job:7000"}});
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  EXPECT_THAT(context->session.addresses,
              ::testing::ElementsAre("server-0.job:7000", "server-1.job:7000", "server-2.job:7000"));
}

TEST(InitializeTest, HasAddressForOtherRanks) {
  const auto context = Initialize(
      {{"ESPALIER_SERVERS", "a:1"}, {"ESPALIER_LOCAL_ADDRESS", "10.0.0.7"}, {"ESPALIER_INSECURE_LISTEN_ANY", "true"}});
  ASSERT_TRUE(context.ok()) << context.status().ToString();
  EXPECT_EQ(context->local_address, "10.0.0.7");
  EXPECT_TRUE(context->plaintext_to_others);
  EXPECT_EQ(Initialize({{"ESPALIER_SERVERS", "a:1"}})->local_address, "127.0.0.1");
}

TEST(InitializeTest, CertificatesAreAllOrNone) {
  Environment environment = {{"ESPALIER_SERVERS", "a:1"}, {"ESPALIER_TLS_CA", "/none/ca.crt"}};
  EXPECT_THAT(Initialize(environment).status().message(), HasSubstr("ESPALIER_TLS_JOB is not set"));
  environment["ESPALIER_TLS_CERTIFICATE"] = "/none/tls.crt";
  environment["ESPALIER_TLS_KEY"] = "/none/tls.key";
  environment["ESPALIER_TLS_JOB"] = "nobody";
  EXPECT_THAT(Initialize(environment).status().message(), HasSubstr("ESPALIER_TLS_JOB"));
  environment["ESPALIER_TLS_JOB"] = "default/0a1b";
  EXPECT_THAT(Initialize(environment).status().message(), HasSubstr("/none/"));
}

}  // namespace
}  // namespace espalier::client
