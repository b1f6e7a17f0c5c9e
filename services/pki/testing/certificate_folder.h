// The certificates of a test job in a temporary folder.
#pragma once

#include <string>

#include "services/pki/certificates.h"

namespace espalier::pki::testing {

inline const JobIdentity kTestJob{"default", "0a1b2c"};

// Owned by one thread.
class CertificateFolder {
 public:
  CertificateFolder();  // with an authority of its own
  ~CertificateFolder();
  CertificateFolder(const CertificateFolder&) = delete;
  CertificateFolder& operator=(const CertificateFolder&) = delete;

  const KeyAndCertificate& authority() const { return authority_; }
  std::string CaFile() const { return path_ + "/ca.crt"; }
  std::string CertificateFile(PeerRole role) const { return path_ + "/" + ToString(role) + "/tls.crt"; }
  std::string KeyFile(PeerRole role) const { return path_ + "/" + ToString(role) + "/tls.key"; }

  // Replaces the role's certificate with a new one for `options`. Both files change atomically, through a symbolic link
  // to a folder, like the kubelet does it.
  void Issue(PeerRole role, LeafOptions options);
  void Issue(PeerRole role) { Issue(role, {.identity = {kTestJob, role}}); }

 private:
  std::string path_;
  KeyAndCertificate authority_;
  int num_issued_ = 0;
};

}  // namespace espalier::pki::testing
