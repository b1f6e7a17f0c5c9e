// The process-wide state that InitializeCpprest (cpprest_transport.h) changes, as it was before.
#pragma once

#include "operator/client/cpprest/tls_setup.h"

namespace espalier::ctl::client {

// Returns the values of SSL_CERT_FILE and SSL_CERT_DIR from before InitializeCpprest, or OpenSSL's defaults. Returns
// FailedPrecondition before InitializeCpprest.
Result<AuthorityPaths> SystemAuthorities();

}  // namespace espalier::ctl::client
