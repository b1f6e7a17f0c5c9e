// Builds the Secrets with the job's CA and the certificates of its roles. Not pure: keys are random and certificates
// have dates.
#pragma once

#include <optional>

#include "operator/kube/time.h"
#include "operator/resources/builders.h"
#include "services/pki/certificates.h"

namespace espalier::ctl::resources {

inline constexpr std::chrono::hours kLeafLifetime{24 * 30};

// Properties of a Secret with a certificate, for the operator's caches, which must not keep keys.
struct CertificateFacts {
  kube::WallTime expires_at{};
  std::string authority;  // fingerprint of the CA that signed the certificate; for a CA its own
  std::string renewal;    // value of kRenewAnnotation when the Secret was made
  friend bool operator==(const CertificateFacts&, const CertificateFacts&) = default;
};
// Returns the properties of a Secret, or nullopt if the Secret is invalid: the operator then replaces it.
std::optional<CertificateFacts> ParseCertificateFacts(const kube::Json& secret);
// Returns when to renew the certificate of a role: after two thirds of kLeafLifetime.
kube::WallTime RenewalTime(const CertificateFacts& facts);

// Returns the Secret of a new CA.
Result<kube::Json> MakeAuthoritySecret(const Context& context);

// The CA of a Secret made by MakeAuthoritySecret, parsed once for all certificates that it signs.
struct Authority {
  CertificateFacts facts;
  pki::LeafIssuer issuer;
};
// Parses the CA's Secret. Returns FailedPrecondition if the certificate or the key is missing or not base64, and
// InvalidArgument if they are not PEM or not a pair.
Result<Authority> ReadAuthoritySecret(const kube::Json& secret);

struct TlsSecret {
  kube::Json secret;       // tls.crt, tls.key, ca.crt
  CertificateFacts facts;  // equal to ParseCertificateFacts(secret)
};
// Returns the Secret of a role with a new key and a certificate that `authority` signs.
Result<TlsSecret> MakeTlsSecret(const Context& context, api::Role role, const Authority& authority);

}  // namespace espalier::ctl::resources
