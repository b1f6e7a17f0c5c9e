#include "services/runner/run/tls_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <random>

#include "services/base/descriptor.h"
#include "services/base/file.h"
#include "services/base/make_folder.h"
#include "services/base/write_all.h"
#include "services/pki/certificates.h"

namespace espalier::run {
namespace {

namespace fs = std::filesystem;

// Longer than a run is expected to take: the certificates are not renewed.
constexpr std::chrono::hours kValidity{24 * 90};
constexpr size_t kMaxPemBytes = 1 << 20;

std::string RandomName() {
  std::random_device device;
  std::string name;
  for (int i = 0; i < 24; ++i) name += "0123456789abcdef"[device() % 16];
  return name;
}

Status MakePrivateFolder(const std::string& path) {
  RETURN_IF_ERROR(MakeFolder(path));
  std::error_code error;
  fs::permissions(path, fs::perms::owner_all, error);
  return error ? FromErrno(error.value(), "making " + path) : Status();
}

// Creates the file with mode 0600 from the start, so that no other user can ever open it.
Status WritePrivate(const std::string& path, const std::string& text) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) return FromErrno(errno, "making " + path);
  return WriteAll(file.get(), text, path);
}

constexpr Role kRolesWithPeers[] = {Role::kTrainer, Role::kSampler, Role::kServer};

pki::PeerRole ToPeerRole(Role role) {
  switch (role) {
    case Role::kPartitioner: return pki::PeerRole::kPartitioner;
    case Role::kTrainer: return pki::PeerRole::kTrainer;
    case Role::kSampler: return pki::PeerRole::kSampler;
    case Role::kServer: return pki::PeerRole::kServer;
  }
  return pki::PeerRole::kPartitioner;
}

}  // namespace

Result<std::unique_ptr<TlsFiles>> TlsFiles::Make(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  std::unique_ptr<TlsFiles> files(new TlsFiles(folder, "local/" + RandomName()));
  RETURN_IF_ERROR(files->Write().While("making the run's certificates"));
  return files;
}

Status TlsFiles::Write() const {
  ASSIGN_OR_RETURN(const pki::JobIdentity job, pki::ParseJobIdentity(job_));
  ASSIGN_OR_RETURN(const pki::KeyAndCertificate authority,
                   pki::MakeCertificateAuthority("espalier run " + job.job_uid, kValidity));
  RETURN_IF_ERROR(MakePrivateFolder(folder_));
  RETURN_IF_ERROR(WritePrivate(folder_ + "/ca.crt", authority.certificate_pem));
  for (const Role role : kRolesWithPeers) {
    pki::LeafOptions options;
    options.identity = {job, ToPeerRole(role)};
    options.dns_names = {"localhost"};
    options.ip_addresses = {"127.0.0.1", "::1"};
    options.valid_for = kValidity;
    ASSIGN_OR_RETURN(const pki::KeyAndCertificate leaf, pki::IssueLeaf(authority, options));
    const std::string folder = folder_ + "/" + ToString(role);
    RETURN_IF_ERROR(MakePrivateFolder(folder));
    RETURN_IF_ERROR(WritePrivate(folder + "/tls.crt", leaf.certificate_pem));
    RETURN_IF_ERROR(WritePrivate(folder + "/tls.key", leaf.key_pem.Reveal()));
  }
  return Status();
}

TlsFiles::~TlsFiles() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

EnvironmentMap TlsFiles::MakeEnvironment(Role role, const std::string& folder) const {
  if (role == Role::kPartitioner) return {};
  const std::string own = folder + "/" + ToString(role);
  return {{"ESPALIER_TLS_CA", folder + "/ca.crt"},
          {"ESPALIER_TLS_CERTIFICATE", own + "/tls.crt"},
          {"ESPALIER_TLS_KEY", own + "/tls.key"},
          {"ESPALIER_TLS_JOB", job_}};
}

EnvironmentMap EnvironmentWithoutTls() {
  return {
      {"ESPALIER_TLS_CA", ""}, {"ESPALIER_TLS_CERTIFICATE", ""}, {"ESPALIER_TLS_KEY", ""}, {"ESPALIER_TLS_JOB", ""}};
}

Result<std::map<std::string, std::string>> TlsFiles::ReadFiles(Role role) const {
  const std::string own = ToString(role);
  std::map<std::string, std::string> files;
  for (const std::string& name : {std::string("ca.crt"), own + "/tls.crt", own + "/tls.key"}) {
    ASSIGN_OR_RETURN(files[name], ReadFile(folder_ + "/" + name, kMaxPemBytes));
  }
  return files;
}

}  // namespace espalier::run
