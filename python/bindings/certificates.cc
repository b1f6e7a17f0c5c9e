// Certificates for servers that a Python program starts, and for the program as their client.
#include <chrono>
#include <string>
#include <tuple>
#include <utility>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "python/bindings/bindings.h"
#include "python/bindings/waits.h"
#include "services/pki/certificates.h"

namespace espalier::python {
namespace {

using CertificateAndKey = std::pair<std::string, std::string>;

// The certificates are not renewed, so they are valid for longer than a notebook is expected to be open.
constexpr std::chrono::hours kValidity{24 * 90};

Result<CertificateAndKey> IssueFor(const pki::PeerIdentity& identity, const pki::KeyAndCertificate& authority) {
  pki::LeafOptions options;
  options.identity = identity;
  options.dns_names = {"localhost"};
  options.ip_addresses = {"127.0.0.1", "::1"};
  options.valid_for = kValidity;
  ASSIGN_OR_RETURN(const pki::KeyAndCertificate leaf, pki::IssueLeaf(authority, options));
  return CertificateAndKey(leaf.certificate_pem, leaf.key_pem.Reveal());
}

// Makes a new certificate authority. Returns, as PEM, its certificate, the certificate and key of a server, and those
// of a trainer. The authority's key is discarded.
Result<std::tuple<std::string, CertificateAndKey, CertificateAndKey>> MakeCertificates(const std::string& job_text) {
  ASSIGN_OR_RETURN(const pki::JobIdentity job, pki::ParseJobIdentity(job_text));
  ASSIGN_OR_RETURN(const pki::KeyAndCertificate authority,
                   pki::MakeCertificateAuthority("espalier.serve " + job.job_uid, kValidity));
  ASSIGN_OR_RETURN(CertificateAndKey server, IssueFor({job, pki::PeerRole::kServer}, authority));
  ASSIGN_OR_RETURN(CertificateAndKey trainer, IssueFor({job, pki::PeerRole::kTrainer}, authority));
  return std::tuple(authority.certificate_pem, std::move(server), std::move(trainer));
}

}  // namespace

void BindCertificates(nanobind::module_& m) {
  m.def("make_certificates", [](const std::string& job) { return ValueOrThrow(MakeCertificates(job)); });
}

}  // namespace espalier::python
