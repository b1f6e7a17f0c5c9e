// Creates CAs and certificates for tests of TLS, including invalid ones.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <vector>

namespace espalier::ctl::client {

struct CertificateAndKey {
  std::string certificate_pem;
  std::string key_pem;
};

enum class KeyKind { kEc, kRsa };

struct CertificateOptions {
  std::string common_name = "test";
  std::vector<std::string> organizations;  // the groups of the user, for an API server
  std::string alternative_names;           // "DNS:kubernetes,IP:127.0.0.1"; empty: none
  std::string usage = "serverAuth";
  bool is_expired = false;
  KeyKind key = KeyKind::kEc;
};

class TestAuthority {
 public:
  // Creates a root CA, or an intermediate CA of `issuer`.
  explicit TestAuthority(const std::string& name, const TestAuthority* issuer = nullptr);

  const std::string& pem() const { return pem_; }
  CertificateAndKey Issue(const CertificateOptions& options) const;

 private:
  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> certificate_;
  std::string pem_;
};

}  // namespace espalier::ctl::client
