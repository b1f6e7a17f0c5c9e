// HttpTransport on cpprestsdk 2.10.18. Its traps, and what is done about each, are fenced in this folder
// (README.md); the library is archived, and docs/decisions has how to replace it.
#pragma once

#include <chrono>
#include <memory>

#include "operator/client/connection.h"
#include "operator/client/transport.h"

namespace espalier::ctl::client {

// First in main, once, before any thread: sets the library's pool of threads and keeps OpenSSL from reading the
// system's authorities on every connection. For that it points SSL_CERT_FILE and SSL_CERT_DIR of this process at
// /dev/null: take the environment that other programs get before. InvalidArgument for a second call with another
// number.
Status InitializeCpprest(int num_threads = 4);

struct CpprestOptions {
  std::string user_agent = "espalier-operator/0.1.0";
  size_t max_line_bytes = 8 << 20;    // of a watch
  size_t high_water_bytes = 4 << 20;  // lines not yet taken; above it the server is made to wait
  size_t max_response_bytes = 64 << 20;
  // Silence after which the library closes a TLS connection through a proxy, which it will not do when told to while
  // the tunnel is being made. Longer than calls take and than watches are silent.
  std::chrono::milliseconds tunnel_timeout{std::chrono::minutes(2)};
};

// InvalidArgument for a connection that makes no sense, FailedPrecondition before InitializeCpprest. Does not connect
// yet. Beside the errors of transport.h, Send and Open say InvalidArgument for a request or a token that cannot be
// written (line breaks), and a redirect is an answer as any other. Streams may outlive the transport.
Result<std::unique_ptr<HttpTransport>> MakeCpprestTransport(const Connection& connection,
                                                            const CpprestOptions& options);

}  // namespace espalier::ctl::client
