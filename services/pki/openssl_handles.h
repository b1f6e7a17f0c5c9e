// Owning handles for OpenSSL objects, and conversion of OpenSSL's errors to Status.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::pki {

template <auto Free>
struct OpenSslFree {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};

using BioHandle = std::unique_ptr<BIO, OpenSslFree<&BIO_free_all>>;
using KeyHandle = std::unique_ptr<EVP_PKEY, OpenSslFree<&EVP_PKEY_free>>;
using CertificateHandle = std::unique_ptr<X509, OpenSslFree<&X509_free>>;
using StoreHandle = std::unique_ptr<X509_STORE, OpenSslFree<&X509_STORE_free>>;
using StoreContextHandle = std::unique_ptr<X509_STORE_CTX, OpenSslFree<&X509_STORE_CTX_free>>;

// Returns a status for OpenSSL's oldest queued error; `doing` is the start of its message ("writing PEM"). Clears the
// error queue of this thread.
inline Status OpenSslError(StatusCode code, const std::string& doing) {
  char text[256] = "unknown error";
  if (const unsigned long error = ERR_get_error(); error != 0) ERR_error_string_n(error, text, sizeof(text));
  ERR_clear_error();
  return Status(code, doing + ": " + text);
}

// Returns all certificates in a PEM text, in order. Empty: there is no certificate, or one is malformed.
std::vector<CertificateHandle> ReadCertificates(const std::string& pem);
// Returns the private key in a PEM text; null if there is none, or if it is malformed or needs a passphrase.
KeyHandle ReadKey(const std::string& pem);
// Returns the SHA-256 of the certificate's DER encoding as 64 hexadecimal digits.
Result<std::string> ComputeFingerprint(X509* certificate);
// Returns the last second in which the certificate is valid.
Result<std::chrono::sys_seconds> GetExpiry(X509* certificate);
// Returns the URIs among the subject alternative names.
std::vector<std::string> ListUriNames(X509* certificate);

}  // namespace espalier::pki
