// HttpTransport on cpprestsdk 2.10.18. The README.md of this folder lists the library's defects and their workarounds,
// which are confined to this folder. The library is archived; docs/decisions describes how to replace it.
#pragma once

#include <chrono>
#include <memory>

#include "operator/client/connection.h"
#include "operator/client/transport.h"

namespace espalier::ctl::client {

// Starts the library's thread pool and keeps OpenSSL from reading the system's CA certificates for every connection.
// Must be called in main before any thread starts. Sets SSL_CERT_FILE and SSL_CERT_DIR of this process to /dev/null, so
// child processes need a copy of the environment from before the call. At exit, the process skips the destructors of
// static objects that were created before the end of this call. Returns InvalidArgument for a number below 1 and for a
// second call with another number, and FailedPrecondition if the library has been used before.
Status InitializeCpprest(int num_threads = 4);

struct CpprestOptions {
  std::string user_agent = "espalier-operator/0.1.0";
  size_t max_line_bytes = 8 << 20;    // of a watch
  size_t high_water_bytes = 4 << 20;  // of unread lines; above this limit, reading from the server pauses
  size_t max_response_bytes = 64 << 20;
  // Idle timeout of TLS connections through a proxy. It must be longer than any call and than the time between two
  // bytes of a watch. It also limits how long the proxy may take to open the tunnel, because the library ignores
  // cancellation until the tunnel is open.
  std::chrono::milliseconds tunnel_timeout{std::chrono::minutes(2)};
};

// Returns a transport for the connection; does not connect yet. Returns InvalidArgument for an invalid connection, and
// FailedPrecondition before InitializeCpprest. In addition to the errors of transport.h, Send and Open return
// InvalidArgument for a request or token that cannot be written, for example with line breaks. Redirects are returned
// as responses. Streams may outlive the transport.
Result<std::unique_ptr<HttpTransport>> MakeCpprestTransport(const Connection& connection,
                                                            const CpprestOptions& options);

}  // namespace espalier::ctl::client
