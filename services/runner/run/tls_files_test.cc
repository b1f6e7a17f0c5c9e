#include "services/runner/run/tls_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "services/pki/certificates.h"

namespace espalier::run {
namespace {

namespace fs = std::filesystem;

std::string Folder() { return testing::TempDir() + "/tls-files-" + std::to_string(getpid()); }

TEST(TlsFilesTest, ArePrivateCertificatesOfRoles) {
  const auto files = TlsFiles::Make(Folder());
  ASSERT_TRUE(files.ok()) << files.status().ToString();
  const std::pair<Role, pki::PeerRole> roles[] = {{Role::kServer, pki::PeerRole::kServer},
                                                  {Role::kSampler, pki::PeerRole::kSampler},
                                                  {Role::kTrainer, pki::PeerRole::kTrainer}};
  for (const auto& [role, peer_role] : roles) {
    const EnvironmentMap told = (*files)->MakeEnvironment(role, Folder());
    const Status checked = pki::CheckCertificateFiles(told.at("ESPALIER_TLS_CA"), told.at("ESPALIER_TLS_CERTIFICATE"),
                                                      told.at("ESPALIER_TLS_KEY"),
                                                      {*pki::ParseJobIdentity(told.at("ESPALIER_TLS_JOB")), peer_role});
    EXPECT_TRUE(checked.ok()) << checked.ToString();
    EXPECT_EQ(fs::status(told.at("ESPALIER_TLS_KEY")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  }
  EXPECT_EQ(fs::status(Folder()).permissions(), fs::perms::owner_all);
  EXPECT_TRUE((*files)->MakeEnvironment(Role::kPartitioner, Folder()).empty());
}

TEST(TlsFilesTest, AreUniquePerRunAndDeletedAtEnd) {
  auto first = TlsFiles::Make(Folder());
  ASSERT_TRUE(first.ok());
  const std::string job = (*first)->MakeEnvironment(Role::kServer, Folder()).at("ESPALIER_TLS_JOB");
  first->reset();
  EXPECT_FALSE(fs::exists(Folder()));
  const auto second = TlsFiles::Make(Folder());
  ASSERT_TRUE(second.ok());
  EXPECT_NE((*second)->MakeEnvironment(Role::kServer, Folder()).at("ESPALIER_TLS_JOB"), job);
}

}  // namespace
}  // namespace espalier::run
