// Certificates of a test job for mutual TLS.
#pragma once

#include <memory>

#include "services/pki/testing/certificate_folder.h"
#include "services/rpc/tls.h"

namespace espalier::rpc::testing {

using pki::testing::kTestJob;

// Owned by one thread.
class TlsFolder : public pki::testing::CertificateFolder {
 public:
  // Returns settings with the files of the role.
  TlsSettings SettingsOf(pki::PeerRole role) const;
  // Issues the role's certificate and loads it.
  std::shared_ptr<const TransportSecurity> Load(pki::PeerRole role);
};

}  // namespace espalier::rpc::testing
