#include "services/pki/certificate_details.h"

#include <openssl/x509v3.h>

#include "services/pki/openssl_handles.h"

namespace espalier::pki {
namespace {

Result<CertificateHandle> ParseFirst(const std::string& pem) {
  std::vector<CertificateHandle> certificates = ReadCertificates(pem);
  if (certificates.empty()) return InvalidArgument("expected certificates in PEM");
  return std::move(certificates.front());
}

Result<CertificateDetails> ReadDetails(X509* certificate) {
  CertificateDetails details;
  ASSIGN_OR_RETURN(details.expires_at, GetExpiry(certificate));
  ASSIGN_OR_RETURN(details.fingerprint, ComputeFingerprint(certificate));
  details.uri_names = ListUriNames(certificate);
  details.is_authority = X509_check_ca(certificate) == 1;
  return details;
}

}  // namespace

Result<CertificateDetails> ParseDetails(const std::string& certificate_pem) {
  ASSIGN_OR_RETURN(const CertificateHandle certificate, ParseFirst(certificate_pem));
  return ReadDetails(certificate.get());
}

Result<CertificateDetails> ParseDetails(const KeyAndCertificate& pair) {
  ASSIGN_OR_RETURN(const CertificateHandle certificate, ParseFirst(pair.certificate_pem));
  const KeyHandle key = ReadKey(pair.key_pem.Reveal());
  if (key == nullptr) return InvalidArgument("expected a private key in PEM without a passphrase");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return InvalidArgument("the key is not that of the certificate");
  }
  return ReadDetails(certificate.get());
}

Status CheckSignedBy(const std::string& certificate_pem, const std::string& authority_pem) {
  ASSIGN_OR_RETURN(const CertificateHandle certificate, ParseFirst(certificate_pem));
  ASSIGN_OR_RETURN(const CertificateHandle authority, ParseFirst(authority_pem));
  EVP_PKEY* const key = X509_get0_pubkey(authority.get());
  const bool is_signed = key != nullptr && X509_verify(certificate.get(), key) == 1;
  ERR_clear_error();
  return is_signed ? Status() : Status(StatusCode::kUnauthenticated, "another authority has signed the certificate");
}

}  // namespace espalier::pki
