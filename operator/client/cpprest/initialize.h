// The state of the process that InitializeCpprest (cpprest_transport.h) changes, and what it was before.
#pragma once

#include "operator/client/cpprest/tls_setup.h"

namespace espalier::ctl::client {

// OpenSSL's own places, or what SSL_CERT_FILE and SSL_CERT_DIR named before InitializeCpprest took them away.
// FailedPrecondition before InitializeCpprest.
Result<AuthorityPaths> SystemAuthorities();

}  // namespace espalier::ctl::client
