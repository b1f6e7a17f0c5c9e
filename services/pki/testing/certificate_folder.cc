#include "services/pki/testing/certificate_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace espalier::pki::testing {
namespace {

namespace fs = std::filesystem;

void Write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  ESPALIER_CHECK(file.good()) << "writing " << path;
}

template <class T>
T FindValue(Result<T> result) {
  ESPALIER_CHECK(result.ok()) << result.status().ToString();
  return *std::move(result);
}

}  // namespace

CertificateFolder::CertificateFolder()
    : authority_(FindValue(MakeCertificateAuthority("test authority", std::chrono::hours(24)))) {
  std::string path = fs::temp_directory_path() / "espalier-certificates-XXXXXX";
  ESPALIER_CHECK(mkdtemp(path.data()) != nullptr) << "making a temporary folder";
  path_ = path;
  Write(CaFile(), authority_.certificate_pem);
}

CertificateFolder::~CertificateFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void CertificateFolder::Issue(PeerRole role, LeafOptions options) {
  const KeyAndCertificate leaf = FindValue(IssueLeaf(authority_, options));
  const std::string name = std::string(ToString(role)) + "." + std::to_string(num_issued_++);
  fs::create_directory(path_ + "/" + name);
  Write(path_ + "/" + name + "/tls.crt", leaf.certificate_pem);
  Write(path_ + "/" + name + "/tls.key", leaf.key_pem.Reveal());
  const std::string link = path_ + "/" + ToString(role);
  fs::create_directory_symlink(name, link + ".next");
  fs::rename(link + ".next", link);
}

}  // namespace espalier::pki::testing
