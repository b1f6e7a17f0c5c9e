// Certificates of a test's job, in a temporary folder.
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

  // Writes a fresh certificate of the role, or of whatever `options` says, in place of the last one: both files
  // change at one moment, by a link to a folder, as the kubelet does it.
  void Issue(PeerRole role, LeafOptions options);
  void Issue(PeerRole role) { Issue(role, {.identity = {kTestJob, role}}); }

 private:
  std::string path_;
  KeyAndCertificate authority_;
  int num_issued_ = 0;
};

}  // namespace espalier::pki::testing
