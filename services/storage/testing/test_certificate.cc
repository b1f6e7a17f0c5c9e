#include "services/storage/testing/test_certificate.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cerrno>
#include <cstdio>
#include <memory>

namespace espalier::storage {
namespace {

template <class T, void (*Free)(T*)>
struct Freer {
  void operator()(T* object) const { Free(object); }
};
using Key = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY, &EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freer<X509, &X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION, &X509_EXTENSION_free>>;

bool AddExtension(X509* certificate, int id, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, id, value));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

Certificate MakeCertificate(EVP_PKEY* key) {
  Certificate certificate(X509_new());
  if (certificate == nullptr) return nullptr;
  X509_NAME* const name = X509_get_subject_name(certificate.get());
  const bool good =
      X509_set_version(certificate.get(), 2) == 1 &&
      ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1) == 1 &&
      X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86400) != nullptr &&
      X509_set_pubkey(certificate.get(), key) == 1 &&
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("espalier test"), -1,
                                 -1, 0) == 1 &&
      X509_set_issuer_name(certificate.get(), name) == 1 &&
      AddExtension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE") &&
      AddExtension(certificate.get(), NID_subject_alt_name, "IP:127.0.0.1,IP:::1,DNS:localhost") &&
      X509_sign(certificate.get(), key, EVP_sha256()) > 0;
  return good ? std::move(certificate) : nullptr;
}

template <class Write>
Status WriteFile(const std::string& path, Write write) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"), &std::fclose);
  if (file == nullptr) return FromErrno(errno, "opening " + path);
  return write(file.get()) == 1 ? Status() : Internal("OpenSSL cannot write " + path);
}

}  // namespace

Result<TestCertificate> MakeTestCertificate(const std::string& folder) {
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Internal("OpenSSL makes no key");
  const Certificate certificate = MakeCertificate(key.get());
  if (certificate == nullptr) return Internal("OpenSSL makes no certificate");
  TestCertificate files{folder + "/server.crt", folder + "/server.key"};
  RETURN_IF_ERROR(
      WriteFile(files.certificate_file, [&](std::FILE* file) { return PEM_write_X509(file, certificate.get()); }));
  RETURN_IF_ERROR(WriteFile(files.key_file, [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  }));
  return files;
}

}  // namespace espalier::storage
