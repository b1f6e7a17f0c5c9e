#include "services/daemon/tls_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/rpc/testing/tls_folder.h"

namespace espalier::daemon {
namespace {

using ::testing::HasSubstr;

TEST(TlsFlagsTest, AreAllOrNone) {
  EXPECT_TRUE(CheckTlsFlags({}).ok());
  EXPECT_EQ(*LoadTls({}, pki::PeerRole::kServer), nullptr);
  const Status partial = CheckTlsFlags({.ca_file = "ca.crt", .key_file = "tls.key", .job = "a/b"});
  EXPECT_EQ(partial.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(partial.message(), HasSubstr("--tls-certificate is missing"));
  EXPECT_THAT(CheckTlsFlags({"ca.crt", "tls.crt", "tls.key", "b"}).message(), HasSubstr("--tls-job"));
}

TEST(TlsFlagsTest, AreRequiredIfJobUsesTls) {
  job::DistTraining training;
  EXPECT_TRUE(CheckTls(training, {}).ok());
  training.tls = job::TlsMode::kManaged;
  EXPECT_EQ(CheckTls(training, {}).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(CheckTls(training, {"ca.crt", "tls.crt", "tls.key", "a/b"}).ok());
}

TEST(TlsFlagsTest, NameReadableFiles) {
  rpc::testing::TlsFolder folder;
  const pki::PeerRole role = pki::PeerRole::kSampler;
  CLI::App app;
  TlsFlags flags;
  AddTlsFlags(app, &flags);
  app.parse("--tls-ca " + folder.CaFile() + " --tls-certificate " + folder.CertificateFile(role) + " --tls-key " +
            folder.KeyFile(role) + " --tls-job " + ToString(rpc::testing::kTestJob));
  EXPECT_EQ(LoadTls(flags, role).status().code(), StatusCode::kNotFound);
  folder.Issue(role);
  EXPECT_TRUE(LoadTls(flags, role).ok());
  EXPECT_EQ(LoadTls(flags, pki::PeerRole::kTrainer).status().code(), StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace espalier::daemon
