#include <openssl/x509v3.h>

#include <cerrno>
#include <iterator>

#include "services/base/file.h"
#include "services/pki/certificates.h"
#include "services/pki/openssl_handles.h"

namespace espalier::pki {
namespace {

constexpr size_t kMaxPemBytes = size_t{1} << 20;

// Checks that an authority has signed chain[0], if necessary through the certificates after it, and that chain[0] is
// valid now and usable for `purpose` (X509_PURPOSE_*). Unauthenticated otherwise.
Status CheckChain(const std::vector<CertificateHandle>& chain, const std::vector<CertificateHandle>& authorities,
                  int purpose) {
  const StoreHandle store(X509_STORE_new());
  for (const CertificateHandle& authority : authorities) X509_STORE_add_cert(store.get(), authority.get());
  STACK_OF(X509)* intermediates = sk_X509_new_null();
  for (size_t i = 1; i < chain.size(); ++i) sk_X509_push(intermediates, chain[i].get());
  const StoreContextHandle context(X509_STORE_CTX_new());
  const bool is_initialized = X509_STORE_CTX_init(context.get(), store.get(), chain[0].get(), intermediates) == 1 &&
                              X509_STORE_CTX_set_purpose(context.get(), purpose) == 1;
  const bool is_valid = is_initialized && X509_verify_cert(context.get()) == 1;
  const std::string reason = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
  sk_X509_free(intermediates);
  ERR_clear_error();
  return is_valid ? Status() : Status(StatusCode::kUnauthenticated, reason);
}

}  // namespace

Status CheckCertificateFiles(const std::string& ca_file, const std::string& certificate_file,
                             const std::string& key_file, const PeerIdentity& identity) {
  ASSIGN_OR_RETURN(const std::string ca_pem, ReadFile(ca_file, kMaxPemBytes));
  ASSIGN_OR_RETURN(const std::string certificate_pem, ReadFile(certificate_file, kMaxPemBytes));
  ASSIGN_OR_RETURN(const std::string key_pem, ReadFile(key_file, kMaxPemBytes));
  const std::vector<CertificateHandle> authorities = ReadCertificates(ca_pem);
  if (authorities.empty()) return InvalidArgument(ca_file + ": expected certificates in PEM");
  const std::vector<CertificateHandle> chain = ReadCertificates(certificate_pem);
  if (chain.empty()) return InvalidArgument(certificate_file + ": expected certificates in PEM");
  const KeyHandle key = ReadKey(key_pem);
  if (key == nullptr) return InvalidArgument(key_file + ": expected a private key in PEM without a passphrase");
  if (X509_check_private_key(chain[0].get(), key.get()) != 1) {
    ERR_clear_error();
    return InvalidArgument(key_file + " is not the key of " + certificate_file);
  }
  for (const int purpose : {X509_PURPOSE_SSL_SERVER, X509_PURPOSE_SSL_CLIENT}) {
    RETURN_IF_ERROR(CheckChain(chain, authorities, purpose).While(certificate_file + " against " + ca_file));
  }
  const PeerRole role = identity.role;
  return CheckPeer(ListUriNames(chain[0].get()), identity.job, {&role, 1}).status().While(certificate_file);
}

}  // namespace espalier::pki
