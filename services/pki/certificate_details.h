// What a process that keeps certificates has to know of them, from PEM text.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/pki/certificates.h"

namespace espalier::pki {

struct CertificateDetails {
  std::chrono::sys_seconds expires_at{};
  std::string fingerprint;             // SHA-256 of the certificate, 64 hexadecimal digits
  std::vector<std::string> uri_names;  // of a leaf: its identity
  bool is_authority = false;           // may sign others
};

// Of the first certificate, which must be that of the key. InvalidArgument for text that is no PEM, and for a key of
// another certificate. Dates are not compared with any clock.
Result<CertificateDetails> ParseDetails(const KeyAndCertificate& pair);
// The same of a certificate whose key is elsewhere.
Result<CertificateDetails> ParseDetails(const std::string& certificate_pem);

// Unauthenticated unless the first certificate of `authority_pem` has signed the first one of `certificate_pem`.
Status CheckSignedBy(const std::string& certificate_pem, const std::string& authority_pem);

}  // namespace espalier::pki
