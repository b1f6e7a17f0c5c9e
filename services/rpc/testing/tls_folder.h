// Mutual TLS from a test job's certificates.
#pragma once

#include <memory>

#include "services/pki/testing/certificate_folder.h"
#include "services/rpc/tls.h"

namespace espalier::rpc::testing {

using pki::testing::kTestJob;

// Owned by one thread.
class TlsFolder : public pki::testing::CertificateFolder {
 public:
  // Settings that name the role's files.
  TlsSettings SettingsOf(pki::PeerRole role) const;
  // Issues and loads.
  std::shared_ptr<const TransportSecurity> Load(pki::PeerRole role);
};

}  // namespace espalier::rpc::testing
