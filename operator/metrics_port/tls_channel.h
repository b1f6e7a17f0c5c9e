// The server's side of TLS for the channels of an admin port.
#pragma once

#include <memory>
#include <string>

#include "services/base/status.h"
#include "services/pki/certificates.h"
#include "services/telemetry/admin_channel.h"

namespace espalier::ctl::metrics_port {

// PEM files, such as those of a mounted Secret of the type kubernetes.io/tls.
struct CertificateFiles {
  std::string certificate;  // the server's certificate, then those of intermediate authorities
  std::string key;
};

// Opens channels with TLS 1.2 or later. The files are read again when they change, so that a renewed certificate is
// used without a restart; if the new files cannot be used, this is logged and the previous certificate stays in use.
// Not thread-safe. Channels may outlive it. The process must ignore SIGPIPE, for example by telemetry::StopSignal,
// because OpenSSL writes to sockets without MSG_NOSIGNAL.
class TlsChannels {
 public:
  // Uses the certificate and key in two files. Errors name the files: NotFound, PermissionDenied and others if a file
  // cannot be read; InvalidArgument if there is no valid certificate or key, or if the key is not the certificate's.
  static Result<std::unique_ptr<TlsChannels>> FromFiles(CertificateFiles files);
  // Uses a fixed certificate.
  static Result<std::unique_ptr<TlsChannels>> FromPair(const pki::KeyAndCertificate& pair);
  ~TlsChannels();
  TlsChannels(const TlsChannels&) = delete;
  TlsChannels& operator=(const TlsChannels&) = delete;

  // Returns a channel on `descriptor`, an accepted connection, which stays the caller's. Returns null if there is no
  // memory for a channel.
  std::unique_ptr<telemetry::AdminChannel> Open(int descriptor);

 private:
  struct State;
  explicit TlsChannels(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace espalier::ctl::metrics_port
