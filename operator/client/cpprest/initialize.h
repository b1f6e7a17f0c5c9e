// The values of process-wide settings before InitializeCpprest (cpprest_transport.h) changed them.
#pragma once

#include "operator/client/cpprest/tls_setup.h"

namespace espalier::ctl::client {

// Returns the values of SSL_CERT_FILE and SSL_CERT_DIR from before InitializeCpprest, or OpenSSL's defaults. Returns
// FailedPrecondition before InitializeCpprest.
Result<AuthorityPaths> GetSystemAuthorities();

}  // namespace espalier::ctl::client
