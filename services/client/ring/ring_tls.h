// TLS sessions of the ring's connections: mutual TLS with the certificates of the job (services/rpc/tls.h).
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <span>
#include <utility>

#include "services/base/status.h"
#include "services/pki/openssl_handles.h"
#include "services/rpc/tls.h"

namespace espalier::client {

using SslHandle = std::unique_ptr<SSL, pki::OpenSslFree<&SSL_free>>;

enum class TlsSide { kConnects, kAccepts };

// Immutable; thread-safe. Reads the certificate files for every session, so that replaced files take effect; this is
// cheap, because a rank has few connections.
class RingTls {
 public:
  explicit RingTls(rpc::TlsSettings settings) : settings_(std::move(settings)) {}

  // Returns a session over a nonblocking socket, before its handshake. The handshake verifies the certificate chain of
  // the peer. FailedPrecondition: the files are not a certificate, its key and CA certificates. ResourceExhausted: the
  // process has no descriptors left to read them.
  Result<SslHandle> MakeSession(int socket, TlsSide side) const;
  // Checks after the handshake that the peer is a process of this job in one of these roles. Errors are those of
  // pki::CheckPeer.
  Status CheckPeer(const SSL* session, std::span<const pki::PeerRole> roles) const;

 private:
  const rpc::TlsSettings settings_;
};

}  // namespace espalier::client
