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

// Returns a self-signed authority that may sign leaf certificates only. It is valid for `validity` from an hour ago.
Result<KeyAndCertificate> MakeCertificateAuthority(const std::string& common_name, std::chrono::seconds validity);

struct LeafOptions {
  PeerIdentity identity;  // becomes the SPIFFE URI
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  // The validity, relative to now. It starts in the past, because clocks differ.
  std::chrono::seconds valid_since = std::chrono::hours(1);
  std::chrono::seconds valid_for = std::chrono::hours(24);
};

struct IssuedLeaf {
  KeyAndCertificate pair;
  std::chrono::sys_seconds expires_at{};
};

// An authority that is parsed once for all leaf certificates that it signs, because OpenSSL needs more time to parse a
// key and its certificate than to sign. Movable; not thread-safe.
class LeafIssuer {
 public:
  // Parses an authority. InvalidArgument for text that is not PEM and for a key of another certificate.
  static Result<LeafIssuer> Of(const KeyAndCertificate& authority);
  ~LeafIssuer();
  LeafIssuer(LeafIssuer&&) noexcept;
  LeafIssuer& operator=(LeafIssuer&&) noexcept;

  // Returns a leaf certificate for clients and servers. InvalidArgument for a name that is not valid in a certificate.
  Result<IssuedLeaf> Issue(const LeafOptions& options) const;
  const std::string& certificate_pem() const;  // the authority's
  const std::string& fingerprint() const;      // of the authority's certificate, see CertificateDetails::fingerprint
  std::chrono::sys_seconds expires_at() const;

 private:
  struct State;
  explicit LeafIssuer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Returns a leaf certificate signed by `authority`. The errors are those of LeafIssuer.
Result<KeyAndCertificate> IssueLeaf(const KeyAndCertificate& authority, const LeafOptions& options);

// Checks whether a process with `identity` can use these files: all are readable, the key matches the certificate, and
// the certificate is valid now, signed by the authority, usable by clients and servers, and of this identity. Errors
// name the file and the problem, which a peer's handshake error would not.
Status CheckCertificateFiles(const std::string& ca_file, const std::string& certificate_file,
                             const std::string& key_file, const PeerIdentity& identity);

}  // namespace espalier::pki
