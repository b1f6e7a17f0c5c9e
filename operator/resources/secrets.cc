// A job has one CA, which signs one certificate per role, with the job and the role as SPIFFE identity. The Secret of a
// role is accepted only if its certificate is signed by the CA in the Secret and names the job and role of the Secret's
// own metadata. So a Secret with the certificate of another job or role is replaced.
#include "operator/resources/secrets.h"

#include <utility>

#include "operator/resources/addresses.h"
#include "operator/resources/child.h"
#include "operator/resources/names.h"
#include "services/base/base64.h"
#include "services/pki/certificate_details.h"

namespace espalier::ctl::resources {

using kube::Json;

namespace {

// A usable CA is never replaced while its job exists: processes with certificates of different CAs do not trust each
// other.
constexpr std::chrono::hours kAuthorityLifetime{24 * 365 * 10};

// Secrets of this type must have kCertificate and kKey. The CA's Secret has no other entries.
constexpr char kTlsType[] = "kubernetes.io/tls";
constexpr char kCertificate[] = "tls.crt";
constexpr char kKey[] = "tls.key";
constexpr char kAuthority[] = "ca.crt";

pki::PeerRole ToPeerRole(api::Role role) {
  switch (role) {
    case api::Role::kPartitioner: return pki::PeerRole::kPartitioner;
    case api::Role::kServer: return pki::PeerRole::kServer;
    case api::Role::kSampler: return pki::PeerRole::kSampler;
    case api::Role::kTrainer: return pki::PeerRole::kTrainer;
  }
  return pki::PeerRole::kPartitioner;
}

std::optional<std::string> FindEntry(const Json& secret, std::string_view key) {
  const std::string text = kube::StringAt(secret, {"data", key});
  return text.empty() ? std::nullopt : DecodeBase64(text);
}

std::optional<pki::KeyAndCertificate> ParsePair(const Json& secret) {
  std::optional<std::string> certificate = FindEntry(secret, kCertificate);
  std::optional<std::string> key = FindEntry(secret, kKey);
  if (!certificate || !key) return std::nullopt;
  return pki::KeyAndCertificate{telemetry::Secret(*std::move(key)), *std::move(certificate)};
}

std::string ReadRenewal(const Json& secret) {
  return kube::StringAt(secret, {"metadata", "annotations", kRenewAnnotation});
}

// Returns the identity that the certificate must have according to the Secret's metadata, or "".
std::string ExpectedIdentity(const Json& secret) {
  const Json& owners = kube::ListAt(secret, {"metadata", "ownerReferences"});
  const std::string uid = owners.size() == 1 ? kube::StringAt(owners[0], {"uid"}) : "";
  const std::string component = kube::StringAt(secret, {"metadata", "labels", kComponentLabel});
  for (const api::Role role : api::kRoles) {
    if (component != api::ToString(role)) continue;
    return pki::ToSpiffeUri({{kube::StringAt(secret, {"metadata", "namespace"}), uid}, ToPeerRole(role)});
  }
  return "";
}

Json MakeSecret(const Context& context, const std::string& name, const std::string& component,
                const pki::KeyAndCertificate& pair) {
  Json secret = MakeChild(context, kube::kSecrets, name, component);
  const auto& annotations = context.training.meta.annotations;
  if (const auto renewal = annotations.find(kRenewAnnotation); renewal != annotations.end()) {
    secret["metadata"]["annotations"][kRenewAnnotation] = renewal->second;
  }
  secret["type"] = kTlsType;
  secret["data"] = {{kCertificate, EncodeBase64(pair.certificate_pem)}, {kKey, EncodeBase64(pair.key_pem.Reveal())}};
  return secret;
}

}  // namespace

std::optional<CertificateFacts> ParseCertificateFacts(const Json& secret) {
  const std::optional<pki::KeyAndCertificate> pair = ParsePair(secret);
  if (!pair) return std::nullopt;
  const Result<pki::CertificateDetails> details = pki::ParseDetails(*pair);
  if (!details.ok()) return std::nullopt;
  CertificateFacts facts;
  facts.expires_at = details->expires_at;
  facts.renewal = ReadRenewal(secret);
  if (details->is_authority) {
    // The Secret of a role must not contain a CA: a pod gets the key in the Secret of its role, and with a CA's key it
    // could sign any certificate.
    if (kube::StringAt(secret, {"metadata", "labels", kComponentLabel}) != kSharedComponent) return std::nullopt;
    facts.authority = details->fingerprint;
    return facts;
  }
  const std::optional<std::string> authority = FindEntry(secret, kAuthority);
  if (!authority || !pki::CheckSignedBy(pair->certificate_pem, *authority).ok()) return std::nullopt;
  if (details->uri_names != std::vector{ExpectedIdentity(secret)}) return std::nullopt;
  const Result<pki::CertificateDetails> signer = pki::ParseDetails(*authority);
  if (!signer.ok()) return std::nullopt;
  facts.authority = signer->fingerprint;
  return facts;
}

kube::WallTime RenewalTime(const CertificateFacts& facts) { return facts.expires_at - kLeafLifetime / 3; }

Result<Json> MakeAuthoritySecret(const Context& context) {
  const api::DistTraining& training = context.training;
  ASSIGN_OR_RETURN(const pki::KeyAndCertificate pair,
                   pki::MakeCertificateAuthority("espalier " + training.meta.uid, kAuthorityLifetime));
  return MakeSecret(context, AuthoritySecretName(training.meta.key.name), kSharedComponent, pair);
}

Result<Authority> ReadAuthoritySecret(const Json& secret) {
  const std::optional<pki::KeyAndCertificate> pair = ParsePair(secret);
  if (!pair) return FailedPrecondition("the Secret of the job's CA lacks tls.crt or tls.key, or they are not base64");
  ASSIGN_OR_RETURN(pki::LeafIssuer issuer, pki::LeafIssuer::Make(*pair));
  CertificateFacts facts{issuer.expires_at(), issuer.fingerprint(), ReadRenewal(secret)};
  return Authority{std::move(facts), std::move(issuer)};
}

Result<TlsSecret> MakeTlsSecret(const Context& context, api::Role role, const Authority& authority) {
  const kube::ObjectMeta& meta = context.training.meta;
  pki::LeafOptions options;
  options.identity = {{meta.key.name_space, meta.uid}, ToPeerRole(role)};
  options.dns_names = {WildcardHost(context)};
  options.valid_for = kLeafLifetime;
  ASSIGN_OR_RETURN(const pki::IssuedLeaf leaf, authority.issuer.Issue(options));
  TlsSecret made;
  made.secret = MakeSecret(context, TlsSecretName(meta.key.name, role), api::ToString(role), leaf.pair);
  made.secret["data"][kAuthority] = EncodeBase64(authority.issuer.certificate_pem());
  made.facts = {leaf.expires_at, authority.facts.authority, ReadRenewal(made.secret)};
  return made;
}

}  // namespace espalier::ctl::resources
