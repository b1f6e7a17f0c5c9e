#include "operator/client/certificate_pair.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <limits>
#include <memory>

namespace espalier::ctl::client {
namespace {

struct Deleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <class T>
using Owned = std::unique_ptr<T, Deleter>;

// Clears OpenSSL's error queue of this thread, so that callers do not find errors of these functions in it.
struct ErrorQueueCleaner {
  ~ErrorQueueCleaner() { ERR_clear_error(); }
};

// Password callback that fails; without a callback OpenSSL would ask for a password on the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

Owned<BIO> MakeReader(const std::string& text) {
  if (text.size() > std::numeric_limits<int>::max()) return nullptr;
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Owned<X509> ReadFirstCertificate(const std::string& pem) {
  const Owned<BIO> reader = MakeReader(pem);
  return Owned<X509>(reader == nullptr ? nullptr : PEM_read_bio_X509(reader.get(), nullptr, NoPassword, nullptr));
}

}  // namespace

Status CheckCertificatePair(const std::string& certificate_pem, const std::string& key_pem) {
  const ErrorQueueCleaner cleaner;
  const Owned<X509> certificate = ReadFirstCertificate(certificate_pem);
  if (certificate == nullptr) return InvalidArgument("no PEM certificate");
  const Owned<BIO> reader = MakeReader(key_pem);
  const Owned<EVP_PKEY> key(reader == nullptr ? nullptr
                                              : PEM_read_bio_PrivateKey(reader.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) return InvalidArgument("expected a PEM private key that is not encrypted");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return InvalidArgument("the private key is not that of the certificate");
  }
  return {};
}

Status CheckAuthorities(const std::string& pem) {
  const ErrorQueueCleaner cleaner;
  return ReadFirstCertificate(pem) == nullptr ? InvalidArgument("no PEM certificate") : Status();
}

}  // namespace espalier::ctl::client
