// The settings made here replace those of cpprestsdk: SetAuthorities replaces the certificate store, and VerifyPeer
// verifies the certificate without calling cpprestsdk's verify callback. One setting of cpprestsdk still has an effect:
// SSL_VERIFY_NONE disables verification. The expected name is a verify parameter of OpenSSL, and SNI is sent from an
// info callback at the start of the handshake.
#include "operator/client/cpprest/tls_setup.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "services/base/file.h"

namespace espalier::ctl::client {
namespace {

constexpr size_t kMaxAuthorityBytes = size_t{4} << 20;

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using X509Ptr = std::unique_ptr<X509, Freer<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;

// Password callback that fails; without a callback OpenSSL would ask for the password on the terminal and wait.
int NoPassword(char*, int, int, void*) { return -1; }

BioPtr MakeReader(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::vector<X509Ptr> ParseCertificates(const std::string& pem) {
  std::vector<X509Ptr> certificates;
  const BioPtr bio = MakeReader(pem);
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr)) {
    certificates.emplace_back(certificate);
  }
  ERR_clear_error();  // OpenSSL reports the end of the text as an error
  return certificates;
}

Status AddAuthorities(X509_STORE* store, const std::string& pem, const std::string& where) {
  const std::vector<X509Ptr> authorities = ParseCertificates(pem);
  if (authorities.empty()) return FailedPrecondition("no CA certificate in " + where);
  for (const X509Ptr& authority : authorities) X509_STORE_add_cert(store, authority.get());
  // Every certificate of the file is trusted, even if it is not a root; Go's clients do the same.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  return {};
}

Status SetAuthorities(SSL_CTX* context, const TlsSettings& settings) {
  X509_STORE* store = X509_STORE_new();
  SSL_CTX_set_cert_store(context, store);  // takes ownership; replaces the certificates loaded by cpprestsdk
  if (!settings.ca_pem.empty())
    return AddAuthorities(store, settings.ca_pem, "the cluster's certificate-authority-data");
  if (!settings.ca_file.empty()) {
    const Result<std::string> pem = ReadFile(settings.ca_file, kMaxAuthorityBytes, FileKinds::kRegular);
    if (!pem.ok()) return FailedPrecondition("the CA file: " + pem.status().message());
    return AddAuthorities(store, *pem, settings.ca_file);
  }
  if (!settings.system.file.empty()) X509_STORE_load_file(store, settings.system.file.c_str());
  if (!settings.system.folder.empty()) X509_STORE_load_path(store, settings.system.folder.c_str());
  ERR_clear_error();  // the file or the folder may be missing
  return {};
}

// Sets the client certificate and key. Checks that they match: OpenSSL's loaders accept, for example, an EC certificate
// with an RSA key, and the client then sends no certificate.
Status SetClientCertificate(SSL_CTX* context, const TlsSettings& settings) {
  if (settings.client_certificate_pem.empty()) return {};
  std::vector<X509Ptr> chain = ParseCertificates(settings.client_certificate_pem);
  if (chain.empty()) return FailedPrecondition("the client certificate is not a PEM certificate");
  const KeyPtr key(
      PEM_read_bio_PrivateKey(MakeReader(settings.client_key_pem.Reveal()).get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (!key) return FailedPrecondition("the client key is not a PEM private key, or is encrypted");
  const bool is_set = X509_check_private_key(chain.front().get(), key.get()) == 1 &&
                      SSL_CTX_use_certificate(context, chain.front().get()) == 1 &&
                      SSL_CTX_use_PrivateKey(context, key.get()) == 1 && SSL_CTX_check_private_key(context) == 1;
  ERR_clear_error();
  if (!is_set) return FailedPrecondition("the client certificate and the client key do not belong together");
  for (size_t i = 1; i < chain.size(); ++i) SSL_CTX_add1_chain_cert(context, chain[i].get());
  return {};
}

Status SetExpectedName(SSL_CTX* context, const std::string& name) {
  X509_VERIFY_PARAM* expected = SSL_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const std::string address = name.substr(0, name.find('%'));  // without the zone of a link-local address
  const bool is_set = X509_VERIFY_PARAM_set1_ip_asc(expected, address.c_str()) == 1 ||
                      X509_VERIFY_PARAM_set1_host(expected, name.data(), name.size()) == 1;
  ERR_clear_error();
  if (!is_set || name.empty()) {
    return FailedPrecondition("the server name that the certificate must contain is empty or invalid");
  }
  return {};
}

void FreeRefusal(void*, void* slot, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<std::shared_ptr<Refusal>*>(slot);
}

// Returns the ex_data index of a context's Refusal.
int RefusalIndex() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeRefusal);
  return index;
}

// Verifies the peer's certificate without cpprestsdk's verify callback (Boost's rfc2818_verification). That callback
// accepts the subject's common name, and compares names with the Host header, including its port.
int VerifyPeer(X509_STORE_CTX* chain, void*) {
  X509_STORE_CTX_set_verify_cb(chain, [](int preverified, X509_STORE_CTX*) { return preverified; });
  const int verdict = X509_verify_cert(chain);
  if (verdict == 1) return 1;
  const auto* ssl = static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const auto* refusal =
      static_cast<const std::shared_ptr<Refusal>*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), RefusalIndex()));
  if (refusal != nullptr && *refusal) (*refusal)->Set(X509_verify_cert_error_string(X509_STORE_CTX_get_error(chain)));
  return 0;
}

// Sends the expected name as SNI; an address is not sent (RFC 6066). The SNI of cpprestsdk is disabled, because it
// would be the host of the URI or the Host header.
void SendServerName(const SSL* ssl, int where, int) {
  if ((where & SSL_CB_HANDSHAKE_START) == 0) return;
  auto* client = const_cast<SSL*>(ssl);
  char* name = X509_VERIFY_PARAM_get0_host(SSL_get0_param(client), 0);
  if (name != nullptr) SSL_ctrl(client, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name);
}

}  // namespace

Status SetUpTls(SSL_CTX* context, const TlsSettings& settings, std::shared_ptr<Refusal> refusal) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  RETURN_IF_ERROR(SetAuthorities(context, settings));
  RETURN_IF_ERROR(SetClientCertificate(context, settings));
  RETURN_IF_ERROR(SetExpectedName(context, settings.server_name));
  SSL_CTX_set_ex_data(context, RefusalIndex(), new std::shared_ptr<Refusal>(std::move(refusal)));
  SSL_CTX_set_cert_verify_callback(context, VerifyPeer, nullptr);
  SSL_CTX_set_info_callback(context, SendServerName);
  return {};
}

}  // namespace espalier::ctl::client
