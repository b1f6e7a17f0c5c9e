// The job's certificate authority and its roles' certificates, as Secrets. Not pure: keys are random, certificates
// dated.
#pragma once

#include <optional>

#include "operator/kube/time.h"
#include "operator/resources/builders.h"

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
std::optional<CertificateFacts> FactsOf(const kube::Json& secret);
// At two thirds of kLeafLifetime.
kube::WallTime RenewalTimeOf(const CertificateFacts& facts);

Result<kube::Json> MakeAuthoritySecret(const Context& context);
// tls.crt, tls.key, ca.crt for `role`, signed by `authority`, the Secret of MakeAuthoritySecret.
Result<kube::Json> MakeTlsSecret(const Context& context, api::Role role, const kube::Json& authority);

}  // namespace espalier::ctl::resources
