#include "services/pki/openssl_handles.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <time.h>

#include "services/base/sha256.h"

namespace espalier::pki {
namespace {

BioHandle MakeBio(const std::string& text) {
  return BioHandle(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Rejects keys with a passphrase, for which OpenSSL would prompt at the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

}  // namespace

std::vector<CertificateHandle> ReadCertificates(const std::string& pem) {
  const BioHandle bio = MakeBio(pem);
  std::vector<CertificateHandle> certificates;
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr)) {
    certificates.emplace_back(certificate);
  }
  const bool has_reached_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!has_reached_end) certificates.clear();
  return certificates;
}

KeyHandle ReadKey(const std::string& pem) {
  const BioHandle bio = MakeBio(pem);
  KeyHandle key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  return key;
}

Result<std::string> ComputeFingerprint(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate, &der);
  if (size <= 0) return OpenSslError(StatusCode::kInternal, "encoding a certificate");
  std::string fingerprint = Sha256Hex({reinterpret_cast<const char*>(der), static_cast<size_t>(size)});
  OPENSSL_free(der);
  return fingerprint;
}

Result<std::chrono::sys_seconds> GetExpiry(X509* certificate) {
  tm utc{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &utc) != 1) {
    return OpenSslError(StatusCode::kInvalidArgument, "reading a certificate's expiry time");
  }
  return std::chrono::sys_seconds(std::chrono::seconds(timegm(&utc)));
}

std::vector<std::string> ListUriNames(X509* certificate) {
  std::vector<std::string> names;
  auto* alternatives =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  const std::unique_ptr<GENERAL_NAMES, OpenSslFree<&GENERAL_NAMES_free>> owner(alternatives);
  for (int i = 0; alternatives != nullptr && i < sk_GENERAL_NAME_num(alternatives); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternatives, i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* uri = name->d.uniformResourceIdentifier;
    names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                       static_cast<size_t>(ASN1_STRING_length(uri)));
  }
  return names;
}

}  // namespace espalier::pki
