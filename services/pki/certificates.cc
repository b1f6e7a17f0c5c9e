// MakeBlankCertificate sets what all certificates have: version, serial number, subject, validity and public key. The
// authority and the leaves then add their extensions and are signed with SHA-256. Checks of certificate files are in
// certificate_check.cc.
#include "services/pki/certificates.h"

#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <algorithm>

#include "services/pki/openssl_handles.h"

namespace espalier::pki {
namespace {

Status SigningError(const std::string& doing) { return OpenSslError(StatusCode::kInternal, doing); }

Result<std::string> ToText(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  if (size <= 0) return SigningError("writing PEM");
  return std::string(data, static_cast<size_t>(size));
}

Result<KeyAndCertificate> ToPem(EVP_PKEY* key, X509* certificate) {
  const BioHandle key_bio(BIO_new(BIO_s_mem()));
  const BioHandle certificate_bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(key_bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      PEM_write_bio_X509(certificate_bio.get(), certificate) != 1) {
    return SigningError("writing PEM");
  }
  ASSIGN_OR_RETURN(std::string key_pem, ToText(key_bio.get()));
  ASSIGN_OR_RETURN(std::string certificate_pem, ToText(certificate_bio.get()));
  return KeyAndCertificate{telemetry::Secret(std::move(key_pem)), std::move(certificate_pem)};
}

bool SetRandomSerial(X509* certificate) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof(bytes)) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x3f) | 0x40);  // positive and of constant length
  BIGNUM* number = BN_bin2bn(bytes, sizeof(bytes), nullptr);
  const bool set = number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return set;
}

bool SetSubject(X509* certificate, const std::string& common_name) {
  const std::string name = common_name.substr(0, 64);  // the limit of X.520
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()), static_cast<int>(name.size()),
                                    -1, 0) == 1;
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

// Returns a certificate without extensions and signature; null after an error of OpenSSL.
CertificateHandle MakeBlankCertificate(EVP_PKEY* key, const std::string& common_name, std::chrono::seconds valid_since,
                                       std::chrono::seconds valid_for) {
  CertificateHandle certificate(X509_new());
  const bool made = certificate != nullptr && X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
                    SetRandomSerial(certificate.get()) && SetSubject(certificate.get(), common_name) &&
                    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -valid_since.count()) != nullptr &&
                    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), valid_for.count()) != nullptr &&
                    X509_set_pubkey(certificate.get(), key) == 1;
  return made ? std::move(certificate) : nullptr;
}

bool IsIpAddress(const std::string& text) {
  in6_addr parsed;  // large enough for an in_addr
  return inet_pton(AF_INET, text.c_str(), &parsed) == 1 || inet_pton(AF_INET6, text.c_str(), &parsed) == 1;
}

// Returns the names in OpenSSL's syntax: "URI:spiffe://...,DNS:a,IP:127.0.0.1". InvalidArgument: a name is empty,
// too long, or contains a character that OpenSSL could interpret, such as the comma, which separates names, or an
// address is not an IP address.
Result<std::string> JoinAlternativeNames(const LeafOptions& options) {
  std::string list = "URI:" + ToSpiffeUri(options.identity);
  const auto add = [&](const char* kind, const std::string& name) {
    const bool is_valid =
        !name.empty() && name.size() <= 253 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
          return std::isalnum(c) != 0 || c == '.' || c == '-' || c == ':' || c == '*';
        });
    list += std::string(",") + kind + ":" + name;
    return is_valid ? Status()
                    : InvalidArgument("'" + name.substr(0, 100) + "' cannot be a name in a certificate: expected 1 " +
                                      "to 253 letters, digits, '.', '-', ':' and '*'");
  };
  for (const std::string& name : options.dns_names) RETURN_IF_ERROR(add("DNS", name));
  for (const std::string& address : options.ip_addresses) {
    RETURN_IF_ERROR(add("IP", address));
    if (!IsIpAddress(address)) return InvalidArgument("'" + address + "' is not an IP address");
  }
  return list;
}

}  // namespace

Result<KeyAndCertificate> MakeCertificateAuthority(const std::string& common_name, std::chrono::seconds valid_for) {
  const KeyHandle key(EVP_EC_gen("P-256"));
  if (key == nullptr) return SigningError("making the authority's key");
  const CertificateHandle certificate = MakeBlankCertificate(key.get(), common_name, std::chrono::hours(1), valid_for);
  const bool made =
      certificate != nullptr &&
      X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get())) == 1 &&
      AddExtension(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      AddExtension(certificate.get(), certificate.get(), NID_key_usage, "critical,keyCertSign") &&
      AddExtension(certificate.get(), certificate.get(), NID_subject_key_identifier, "hash") &&
      X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0;
  if (!made) return SigningError("making the authority's certificate");
  return ToPem(key.get(), certificate.get());
}

struct LeafIssuer::State {
  CertificateHandle certificate;
  KeyHandle key;
  std::string certificate_pem;
  std::string fingerprint;
  std::chrono::sys_seconds expires_at;
};

LeafIssuer::LeafIssuer(std::unique_ptr<State> state) : state_(std::move(state)) {}
LeafIssuer::~LeafIssuer() = default;
LeafIssuer::LeafIssuer(LeafIssuer&&) noexcept = default;
LeafIssuer& LeafIssuer::operator=(LeafIssuer&&) noexcept = default;

Result<LeafIssuer> LeafIssuer::Make(const KeyAndCertificate& authority) {
  std::vector<CertificateHandle> certificates = ReadCertificates(authority.certificate_pem);
  KeyHandle key = ReadKey(authority.key_pem.Reveal());
  if (certificates.empty() || key == nullptr || X509_check_private_key(certificates[0].get(), key.get()) != 1) {
    ERR_clear_error();
    return InvalidArgument("the authority's certificate and key are not PEM, or not a pair");
  }
  auto state = std::make_unique<State>();
  ASSIGN_OR_RETURN(state->fingerprint, ComputeFingerprint(certificates[0].get()));
  ASSIGN_OR_RETURN(state->expires_at, GetExpiry(certificates[0].get()));
  state->certificate = std::move(certificates[0]);
  state->key = std::move(key);
  state->certificate_pem = authority.certificate_pem;
  return LeafIssuer(std::move(state));
}

const std::string& LeafIssuer::certificate_pem() const { return state_->certificate_pem; }
const std::string& LeafIssuer::fingerprint() const { return state_->fingerprint; }
std::chrono::sys_seconds LeafIssuer::expires_at() const { return state_->expires_at; }

Result<IssuedLeaf> LeafIssuer::Issue(const LeafOptions& options) const {
  X509* issuer = state_->certificate.get();
  ASSIGN_OR_RETURN(const std::string names, JoinAlternativeNames(options));
  const KeyHandle key(EVP_EC_gen("P-256"));
  if (key == nullptr) return SigningError("making a key");
  const CertificateHandle leaf =
      MakeBlankCertificate(key.get(), ToString(options.identity.role), options.valid_since, options.valid_for);
  const bool made = leaf != nullptr && X509_set_issuer_name(leaf.get(), X509_get_subject_name(issuer)) == 1 &&
                    AddExtension(leaf.get(), issuer, NID_basic_constraints, "critical,CA:FALSE") &&
                    AddExtension(leaf.get(), issuer, NID_key_usage, "critical,digitalSignature") &&
                    AddExtension(leaf.get(), issuer, NID_ext_key_usage, "serverAuth,clientAuth") &&
                    AddExtension(leaf.get(), issuer, NID_subject_key_identifier, "hash") &&
                    AddExtension(leaf.get(), issuer, NID_authority_key_identifier, "keyid") &&
                    AddExtension(leaf.get(), issuer, NID_subject_alt_name, names) &&
                    X509_sign(leaf.get(), state_->key.get(), EVP_sha256()) > 0;
  if (!made) return SigningError("making a certificate of " + ToSpiffeUri(options.identity));
  IssuedLeaf issued;
  ASSIGN_OR_RETURN(issued.pair, ToPem(key.get(), leaf.get()));
  ASSIGN_OR_RETURN(issued.expires_at, GetExpiry(leaf.get()));
  return issued;
}

Result<KeyAndCertificate> IssueLeaf(const KeyAndCertificate& authority, const LeafOptions& options) {
  ASSIGN_OR_RETURN(const LeafIssuer issuer, LeafIssuer::Make(authority));
  ASSIGN_OR_RETURN(IssuedLeaf leaf, issuer.Issue(options));
  return std::move(leaf.pair);
}

}  // namespace espalier::pki
