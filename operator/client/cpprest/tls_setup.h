// Configures TLS of a client in an SSL_CTX. Depends on OpenSSL only, so that it can be kept if cpprestsdk is replaced.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::client {

// Locations of the system's CA certificates; empty: none.
struct AuthorityPaths {
  std::string file;
  std::string folder;
};

struct TlsSettings {
  std::string server_name;  // name or address that the certificate must contain; a name is also sent as SNI
  std::string ca_file;      // read by each call of SetUpTls
  std::string ca_pem;       // used instead of ca_file; both empty: `system`
  AuthorityPaths system;
  std::string client_certificate_pem;  // with its chain; empty if and only if client_key_pem is empty
  telemetry::Secret client_key_pem;
};

// Holds the reason why the peer's certificate was refused; cpprestsdk only reports a failed handshake. Thread-safe.
class Refusal {
 public:
  void Set(std::string reason) {
    MutexLock lock(&mutex_);
    reason_ = std::move(reason);
  }
  std::string reason() const {
    MutexLock lock(&mutex_);
    return reason_;
  }

 private:
  mutable Mutex mutex_;
  std::string reason_ ABSL_GUARDED_BY(mutex_);
};

// Configures the context of one new connection: TLS 1.2 or newer and only the CA certificates of `settings`. The
// server's certificate must contain the server's name or address in its subject alternative names; its subject is
// ignored. A verify callback that is set later on an SSL of this context is not called, but SSL_VERIFY_NONE still
// disables verification. If the server's certificate is refused, the reason is stored in `refusal`, which may be null.
// Returns FailedPrecondition for CA certificates, client certificates, keys and server names that cannot be used;
// messages do not contain the key.
Status SetUpTls(SSL_CTX* context, const TlsSettings& settings, std::shared_ptr<Refusal> refusal);

}  // namespace espalier::ctl::client
