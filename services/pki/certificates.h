// X.509 certificates of a job, as PEM text: an authority for this job only and the leaf certificates that it signs, all
// with EC P-256 keys. Also checks certificate files before the first connection.
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

// Returns a self-signed authority that may sign leaf certificates only. It is valid from an hour ago until `valid_for`
// from now.
Result<KeyAndCertificate> MakeCertificateAuthority(const std::string& common_name, std::chrono::seconds valid_for);

struct LeafOptions {
  PeerIdentity identity;  // becomes the SPIFFE URI
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  // The certificate is valid from now - valid_since, because clocks differ, until now + valid_for.
  std::chrono::seconds valid_since = std::chrono::hours(1);
  std::chrono::seconds valid_for = std::chrono::hours(24);
};

struct IssuedLeaf {
  KeyAndCertificate pair;
  std::chrono::sys_seconds expires_at{};
};

// Issues leaf certificates of one authority, which is parsed only once: parsing a key and its certificate takes OpenSSL
// more time than signing. Movable; not thread-safe.
class LeafIssuer {
 public:
  // Parses an authority. InvalidArgument: the text is not PEM, or the key belongs to another certificate.
  static Result<LeafIssuer> Make(const KeyAndCertificate& authority);
  ~LeafIssuer();
  LeafIssuer(LeafIssuer&&) noexcept;
  LeafIssuer& operator=(LeafIssuer&&) noexcept;

  // Returns a new leaf certificate for use as client and as server, with a new key. InvalidArgument: a name in
  // `options` is not valid in a certificate.
  Result<IssuedLeaf> Issue(const LeafOptions& options) const;
  const std::string& certificate_pem() const;   // the authority's
  const std::string& fingerprint() const;       // of the authority's certificate, see CertificateDetails::fingerprint
  std::chrono::sys_seconds expires_at() const;  // of the authority's certificate

 private:
  struct State;
  explicit LeafIssuer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Returns a leaf certificate signed by `authority`. The errors are those of LeafIssuer.
Result<KeyAndCertificate> IssueLeaf(const KeyAndCertificate& authority, const LeafOptions& options);

// Checks whether a process with `identity` can use these files: all are readable, the key matches the certificate, and
// the certificate is valid now, signed by the authority, usable by clients and servers, and of this identity. Errors
// name the file and the problem, which a peer's handshake error would not. NotFound: a file is missing;
// InvalidArgument: a file is not PEM, or the key is of another certificate; Unauthenticated: the certificate is not
// valid now, not signed by the authority, not usable by clients and servers, or has no identity; PermissionDenied: the
// identity is of another job or role.
Status CheckCertificateFiles(const std::string& ca_file, const std::string& certificate_file,
                             const std::string& key_file, const PeerIdentity& identity);

}  // namespace espalier::pki
