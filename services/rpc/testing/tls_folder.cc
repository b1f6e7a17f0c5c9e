#include "services/rpc/testing/tls_folder.h"

namespace espalier::rpc::testing {

TlsSettings TlsFolder::SettingsOf(pki::PeerRole role) const {
  return {.ca_file = CaFile(), .certificate_file = CertificateFile(role), .key_file = KeyFile(role), .job = kTestJob};
}

std::shared_ptr<const TransportSecurity> TlsFolder::Load(pki::PeerRole role) {
  Issue(role);
  auto loaded = TransportSecurity::Load(SettingsOf(role), role);
  ESPALIER_CHECK(loaded.ok()) << loaded.status().ToString();
  return *std::move(loaded);
}

}  // namespace espalier::rpc::testing
