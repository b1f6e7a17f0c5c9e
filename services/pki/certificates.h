// X.509 certificates of a job: a throw-away authority and the leaves it signs, all EC P-256, as PEM text; and what
// can be said about certificate files before anybody connects.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "services/base/status.h"
#include "services/pki/peer_identity.h"
#include "services/telemetry/log.h"

namespace espalier::pki {

struct KeyAndCertificate {
  telemetry::Secret key_pem;
  std::string certificate_pem;
};

// A self-signed authority that may sign leaves only, valid from an hour ago for `validity`.
Result<KeyAndCertificate> MakeCertificateAuthority(const std::string& common_name, std::chrono::seconds validity);

struct LeafOptions {
  PeerIdentity identity;  // becomes the SPIFFE URI
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  // From now; the start lies in the past because clocks differ.
  std::chrono::seconds valid_since = std::chrono::hours(1);
  std::chrono::seconds valid_for = std::chrono::hours(24);
};

struct IssuedLeaf {
  KeyAndCertificate pair;
  std::chrono::sys_seconds expires_at{};
};

// An authority that is read once for all the leaves it signs: reading a key and its certificate takes OpenSSL longer
// than signing with it. Movable; one thread at a time.
class LeafIssuer {
 public:
  // InvalidArgument for what is no PEM, and for a key of another certificate.
  static Result<LeafIssuer> Of(const KeyAndCertificate& authority);
  ~LeafIssuer();
  LeafIssuer(LeafIssuer&&) noexcept;
  LeafIssuer& operator=(LeafIssuer&&) noexcept;

  // A leaf for both ends of connections. InvalidArgument: a name that cannot stand in a certificate.
  Result<IssuedLeaf> Issue(const LeafOptions& options) const;
  const std::string& certificate_pem() const;  // the authority's
  const std::string& fingerprint() const;      // of the authority's certificate, as CertificateDetails::fingerprint
  std::chrono::sys_seconds expires_at() const;

 private:
  struct State;
  explicit LeafIssuer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A single leaf of `authority`. Errors as LeafIssuer's.
Result<KeyAndCertificate> IssueLeaf(const KeyAndCertificate& authority, const LeafOptions& options);

// Whether a process with `identity` can use these files: all readable, the key that of the certificate, the
// certificate valid now, signed by the authority, fit for both ends, and of that identity. Errors name the file and
// say what is wrong: what a peer would answer with a refusal that says less.
Status CheckCertificateFiles(const std::string& ca_file, const std::string& certificate_file,
                             const std::string& key_file, const PeerIdentity& identity);

}  // namespace espalier::pki
