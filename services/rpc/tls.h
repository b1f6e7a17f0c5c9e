// Mutual TLS between a job's processes.
//
//   certificate files --(watched)--> TransportSecurity --> channel and server credentials
//
// In the handshake each end asks for a certificate of the job's authority and then for an identity of this very job
// (peer_identity.h): a client goes no further with a server of another job or role, so that no call's payload has
// left by then; a server closes on a client of another job. Which roles may call a server is looked up for every
// call: others get PERMISSION_DENIED. Refusals are logged with their reason, a limited number of lines.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/pki/peer_identity.h"

namespace espalier::rpc {

struct TlsSettings {
  std::string ca_file;           // PEM: every authority that peers' certificates may come from
  std::string certificate_file;  // PEM: this process's certificate, then what leads to the authority
  std::string key_file;          // PEM, without a passphrase
  pki::JobIdentity job;
  // How often the files are looked at. Connections that exist go on as they are; new ones use what was read last.
  std::chrono::seconds refresh_interval{1};
};

// What a process shows to others and asks of them. Immutable but for the files it watches; thread-safe.
class TransportSecurity {
 public:
  // For a process of `role`. Checks the files first (certificates.h says what is wrong with them).
  static Result<std::shared_ptr<const TransportSecurity>> Load(const TlsSettings& settings, pki::PeerRole role);
  // Load, with further looks, for a second or two, at files that may be in the middle of being replaced: they do not
  // fit each other, or are not there, for an instant.
  static Result<std::shared_ptr<const TransportSecurity>> LoadPatiently(const TlsSettings& settings,
                                                                        pki::PeerRole role);

  const TlsSettings& settings() const { return settings_; }

  // For channels to a server of `server_role`.
  std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(pki::PeerRole server_role) const;
  // For a server that processes of `callers` may call. Health checks are open to every process of the job.
  std::shared_ptr<grpc::ServerCredentials> ServerCredentials(std::vector<pki::PeerRole> callers) const;

 private:
  explicit TransportSecurity(const TlsSettings& settings);

  const TlsSettings settings_;
  const std::shared_ptr<grpc::experimental::CertificateProviderInterface> certificates_;
};

}  // namespace espalier::rpc
