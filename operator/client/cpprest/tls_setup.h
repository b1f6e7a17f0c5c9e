// TLS as the operator wants it, on a bare SSL_CTX: OpenSSL and nothing else, so that whatever replaces cpprestsdk can
// keep it.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "services/base/mutex.h"
#include "services/base/status.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::client {

// Where the machine keeps its authorities; empty: nowhere.
struct AuthorityPaths {
  std::string file;
  std::string folder;
};

struct TlsSettings {
  std::string server_name;  // name or address that the certificate must be for; a name is also sent (SNI)
  std::string ca_file;      // read by every SetUpTls
  std::string ca_pem;       // in place of ca_file; both empty: `system`
  AuthorityPaths system;
  std::string client_certificate_pem;  // with its chain; both or none
  telemetry::Secret client_key_pem;
};

// Why the peer's certificate was refused: the library says only that the handshake failed. Thread-safe.
class Refusal {
 public:
  void Set(std::string why) {
    MutexLock lock(&mutex_);
    why_ = std::move(why);
  }
  std::string why() const {
    MutexLock lock(&mutex_);
    return why_;
  }

 private:
  mutable Mutex mutex_;
  std::string why_ ABSL_GUARDED_BY(mutex_);
};

// For one new connection. TLS 1.2 or newer; only the named authorities; the name or address must stand in the
// certificate's alternative names, whatever its subject says. Verification is ours from here on: a verify callback that
// is set on an SSL of this context later is never asked (SSL_VERIFY_NONE still turns it off). FailedPrecondition for
// authorities, certificates and keys that cannot be used; never repeats a key. `refusal` may be null.
Status SetUpTls(SSL_CTX* context, const TlsSettings& settings, std::shared_ptr<Refusal> refusal);

}  // namespace espalier::ctl::client
