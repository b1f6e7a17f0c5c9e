// Details of certificates in PEM text, for processes that manage certificates.
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
  std::vector<std::string> uri_names;  // the identity of a leaf certificate
  bool is_authority = false;           // may sign other certificates
};

// Returns the details of the first certificate, which must match the key. InvalidArgument for text that is not PEM and
// for a key of another certificate. Does not check the dates.
Result<CertificateDetails> ParseDetails(const KeyAndCertificate& pair);
// Returns the details of a certificate without its key.
Result<CertificateDetails> ParseDetails(const std::string& certificate_pem);

// Returns Unauthenticated unless the first certificate in `authority_pem` has signed the first one in
// `certificate_pem`.
Status CheckSignedBy(const std::string& certificate_pem, const std::string& authority_pem);

}  // namespace espalier::pki
