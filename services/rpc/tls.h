// Mutual TLS between a job's processes.
//
//   certificate files --(watched)--> TransportSecurity --> channel and server credentials
//
// In the handshake, each end requires a certificate from the job's authority and an identity of the same job
// (peer_identity.h). A client rejects a server of another job or role before it sends the payload of a call; a server
// closes connections of clients of other jobs. The server checks for every call whether the role of the client may make
// it, and returns PERMISSION_DENIED otherwise. Rejections are logged with their reason, at a limited rate
// (handshake_log.h).
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
  std::string ca_file;           // PEM: the authorities that may sign peers' certificates
  std::string certificate_file;  // PEM: this process's certificate, then the intermediate certificates
  std::string key_file;          // PEM, without a passphrase
  pki::JobIdentity job;
  // The interval at which the files are checked for changes. New connections use the files read last; existing ones are
  // not affected.
  std::chrono::seconds refresh_interval{1};
};

// The credentials of a process and its requirements on peers. Immutable except for the files that it watches;
// thread-safe.
class TransportSecurity {
 public:
  // Loads the credentials of a process with the role `role`. Checks the files first and returns the errors of
  // pki::CheckCertificateFiles.
  static Result<std::shared_ptr<const TransportSecurity>> Load(const TlsSettings& settings, pki::PeerRole role);
  // Like Load, but retries for a second or two if files are missing or do not match, as happens while they are
  // replaced.
  static Result<std::shared_ptr<const TransportSecurity>> LoadWithRetry(const TlsSettings& settings,
                                                                        pki::PeerRole role);

  const TlsSettings& settings() const { return settings_; }

  // Returns credentials for channels to servers with the role `server_role`.
  std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials(pki::PeerRole server_role) const;
  // Returns credentials for a server. Only peers with one of the roles `callers` may call it, but health checks are
  // open to every process of the job.
  std::shared_ptr<grpc::ServerCredentials> ServerCredentials(std::vector<pki::PeerRole> callers) const;

 private:
  explicit TransportSecurity(const TlsSettings& settings);

  const TlsSettings settings_;
  const std::shared_ptr<grpc::experimental::CertificateProviderInterface> certificates_;
};

}  // namespace espalier::rpc
