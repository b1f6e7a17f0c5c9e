// The job's certificate authority and its roles' certificates, as Secrets. Not pure: keys are random, certificates
// dated.
#pragma once

#include <optional>

#include "operator/kube/time.h"
#include "operator/resources/builders.h"
#include "services/pki/certificates.h"

namespace espalier::ctl::resources {

inline constexpr std::chrono::hours kLeafLifetime{24 * 30};

// What the operator has to know of a Secret of certificates without keeping its contents.
struct CertificateFacts {
  kube::WallTime expires_at{};
  std::string authority;  // fingerprint of the authority that signed it, or of itself
  std::string renewal;    // value of kRenewAnnotation it was made for
  friend bool operator==(const CertificateFacts&, const CertificateFacts&) = default;
};
// nullopt for a Secret that cannot be used: it is made again.
std::optional<CertificateFacts> ParseCertificateFacts(const kube::Json& secret);
// At two thirds of kLeafLifetime.
kube::WallTime RenewalTime(const CertificateFacts& facts);

Result<kube::Json> MakeAuthoritySecret(const Context& context);

// The Secret of MakeAuthoritySecret, read once for all that it signs.
struct Authority {
  CertificateFacts facts;
  pki::LeafIssuer issuer;
};
// FailedPrecondition for a Secret without certificate or key, InvalidArgument where those are of no use.
Result<Authority> ReadAuthoritySecret(const kube::Json& secret);

struct TlsSecret {
  kube::Json secret;       // tls.crt, tls.key, ca.crt
  CertificateFacts facts;  // what ParseCertificateFacts would read out of it again
};
Result<TlsSecret> MakeTlsSecret(const Context& context, api::Role role, const Authority& authority);

}  // namespace espalier::ctl::resources
