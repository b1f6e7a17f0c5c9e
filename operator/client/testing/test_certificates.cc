#include "operator/client/testing/test_certificates.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>

#include "services/base/check.h"

namespace espalier::ctl::client {
namespace {

constexpr long kHour = 3600;

std::shared_ptr<EVP_PKEY> NewKey(KeyKind kind) {
  EVP_PKEY* key = kind == KeyKind::kEc ? EVP_EC_gen("P-256") : EVP_RSA_gen(2048);
  ESPALIER_CHECK(key != nullptr);
  return {key, EVP_PKEY_free};
}

void AddName(X509* certificate, const char* field, const std::string& value) {
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), field, MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(value.c_str()), -1, -1, 0);
}

// Returns an unsigned certificate that is valid for the 25 hours before `until_seconds` from now.
std::shared_ptr<X509> NewCertificate(const std::string& name, long until_seconds, EVP_PKEY* key) {
  static std::atomic<long> serial{1};
  std::shared_ptr<X509> certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), until_seconds - 25 * kHour);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), until_seconds);
  AddName(certificate.get(), "CN", name);
  ESPALIER_CHECK(X509_set_pubkey(certificate.get(), key) == 1);
  return certificate;
}

void Extend(X509* certificate, X509* issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
  ESPALIER_CHECK(extension != nullptr) << value;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

template <class Write>
std::string Pem(Write write) {
  BIO* bio = BIO_new(BIO_s_mem());
  ESPALIER_CHECK(write(bio) == 1);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  std::string pem(text, static_cast<size_t>(size));
  BIO_free(bio);
  return pem;
}

std::string CertificatePem(X509* certificate) {
  return Pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

}  // namespace

TestAuthority::TestAuthority(const std::string& name, const TestAuthority* issuer) : key_(NewKey(KeyKind::kEc)) {
  certificate_ = NewCertificate(name, 24 * kHour, key_.get());
  if (issuer == nullptr) issuer = this;
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(issuer->certificate_.get()));
  Extend(certificate_.get(), certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
  Extend(certificate_.get(), certificate_.get(), NID_key_usage, "critical,keyCertSign");
  X509_sign(certificate_.get(), issuer->key_.get(), EVP_sha256());
  pem_ = CertificatePem(certificate_.get());
}

CertificateAndKey TestAuthority::Issue(const CertificateOptions& options) const {
  const std::shared_ptr<EVP_PKEY> key = NewKey(options.key);
  const std::shared_ptr<X509> leaf =
      NewCertificate(options.common_name, options.is_expired ? -kHour : 24 * kHour, key.get());
  for (const std::string& organization : options.organizations) AddName(leaf.get(), "O", organization);
  X509_set_issuer_name(leaf.get(), X509_get_subject_name(certificate_.get()));
  Extend(leaf.get(), certificate_.get(), NID_ext_key_usage, options.usage);
  if (!options.alternative_names.empty()) {
    Extend(leaf.get(), certificate_.get(), NID_subject_alt_name, options.alternative_names);
  }
  X509_sign(leaf.get(), key_.get(), EVP_sha256());
  return {.certificate_pem = CertificatePem(leaf.get()), .key_pem = Pem([&](BIO* bio) {
                                                           return PEM_write_bio_PrivateKey(
                                                               bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
                                                         })};
}

}  // namespace espalier::ctl::client
