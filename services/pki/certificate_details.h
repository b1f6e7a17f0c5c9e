// Details of certificates in PEM text, for processes that manage certificates.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/pki/certificates.h"

namespace espalier::pki {

struct CertificateDetails {
  std::chrono::sys_seconds expires_at{};  // last second in which it is valid
  std::string fingerprint;                // SHA-256 of the certificate, 64 hexadecimal digits
  std::vector<std::string> uri_names;     // among the subject alternative names; a leaf has one, its SPIFFE URI
  bool is_authority = false;              // may sign other certificates
};

// Returns the details of the first certificate, which must match the key. InvalidArgument: the text is not PEM, or the
// key belongs to another certificate. Does not check the validity period.
Result<CertificateDetails> ParseDetails(const KeyAndCertificate& pair);
// The same without a key.
Result<CertificateDetails> ParseDetails(const std::string& certificate_pem);

// Checks that the first certificate in `authority_pem` has signed the first one in `certificate_pem`. Unauthenticated:
// it has not; InvalidArgument: a text is not PEM.
Status CheckSignedBy(const std::string& certificate_pem, const std::string& authority_pem);

}  // namespace espalier::pki
