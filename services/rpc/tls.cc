// gRPC verifies the certificate chain. IdentityVerifier then checks the job and role of the peer once per handshake (on
// the server, every role passes), and CallerCheck checks on the server, for each call, that the role of the client may
// make it.
#include "services/rpc/tls.h"

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <utility>

#include "services/base/clock.h"
#include "services/pki/certificates.h"
#include "services/rpc/handshake_log.h"
#include "services/rpc/status_map.h"

namespace espalier::rpc {
namespace {

using grpc::experimental::CertificateVerifier;
using grpc::experimental::ExternalCertificateVerifier;
using grpc::experimental::TlsCustomVerificationCheckRequest;

constexpr const char* kHealthService = "/grpc.health.v1.Health/";

std::string ToString(grpc::string_ref text) { return std::string(text.data(), text.size()); }

// Checks in the handshake, after the chain, that the peer is a process of this job in one of these roles.
class IdentityVerifier final : public ExternalCertificateVerifier {
 public:
  IdentityVerifier(pki::JobIdentity job, std::vector<pki::PeerRole> roles)
      : job_(std::move(job)), roles_(std::move(roles)) {}

  bool Verify(TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* verdict) override {
    std::vector<std::string> uri_names;
    for (const grpc::string_ref& name : request->uri_names()) uri_names.push_back(ToString(name));
    const Status checked = pki::CheckPeer(uri_names, job_, roles_).status();
    if (!checked.ok()) {
      const std::string target = ToString(request->target_name());
      LogRefusal(target.empty() ? "a client's connection was refused" : "a server was refused", target, checked);
    }
    *verdict = ToGrpc(checked);
    return true;  // the verdict is set, so gRPC does not wait for the callback
  }
  void Cancel(TlsCustomVerificationCheckRequest*) override {}  // Verify is synchronous

 private:
  const pki::JobIdentity job_;
  const std::vector<pki::PeerRole> roles_;
};

// Checks for every call that the role of the client may make it. Every role may call the health service.
class CallerCheck final : public grpc::AuthMetadataProcessor {
 public:
  CallerCheck(pki::JobIdentity job, std::vector<pki::PeerRole> callers)
      : job_(std::move(job)), callers_(std::move(callers)) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* connection, OutputMetadata*,
                       OutputMetadata*) override {
    std::vector<std::string> identities;
    for (const grpc::string_ref& id : connection->FindPropertyValues("peer_spiffe_id"))
      identities.push_back(ToString(id));
    const auto path = metadata.find(":path");
    const std::string method = path == metadata.end() ? "" : ToString(path->second);
    const bool is_open = method.starts_with(kHealthService);
    const std::span<const pki::PeerRole> roles = is_open ? std::span<const pki::PeerRole>(pki::kPeerRoles) : callers_;
    const Status checked = pki::CheckPeer(identities, job_, roles).status();
    if (checked.ok()) return grpc::Status::OK;
    LogRefusal("a call was refused", method, checked);
    return ToGrpc(checked.While("the server refuses this certificate"));
  }

 private:
  const pki::JobIdentity job_;
  const std::vector<pki::PeerRole> callers_;
};

template <class Options>
void ConfigureVerification(std::shared_ptr<grpc::experimental::CertificateProviderInterface> certificates,
                           const pki::JobIdentity& job, std::vector<pki::PeerRole> peer_roles, Options& options) {
  options.set_certificate_provider(std::move(certificates));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(ExternalCertificateVerifier::Create<IdentityVerifier>(job, std::move(peer_roles)));
}

}  // namespace

Result<std::shared_ptr<const TransportSecurity>> TransportSecurity::Load(const TlsSettings& settings,
                                                                         pki::PeerRole role) {
  RETURN_IF_ERROR(
      pki::CheckCertificateFiles(settings.ca_file, settings.certificate_file, settings.key_file, {settings.job, role}));
  SendHandshakeErrorsToLog();
  return std::shared_ptr<const TransportSecurity>(new TransportSecurity(settings));
}

Result<std::shared_ptr<const TransportSecurity>> TransportSecurity::LoadWithRetry(const TlsSettings& settings,
                                                                                  pki::PeerRole role) {
  constexpr int kAttempts = 4;
  constexpr std::chrono::milliseconds kDelay{500};
  for (int attempts_left = kAttempts;;) {
    auto loaded = Load(settings, role);
    const StatusCode code = loaded.ok() ? StatusCode::kOk : loaded.status().code();
    const bool may_be_transient = code == StatusCode::kInvalidArgument || code == StatusCode::kNotFound;
    if (!may_be_transient || --attempts_left == 0) return loaded;
    Clock::Real().SleepFor(kDelay);
  }
}

TransportSecurity::TransportSecurity(const TlsSettings& settings)
    : settings_(settings),
      certificates_(std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          settings.key_file, settings.certificate_file, settings.ca_file,
          static_cast<unsigned>(std::max<int64_t>(1, settings.refresh_interval.count())))) {}

std::shared_ptr<grpc::ChannelCredentials> TransportSecurity::ChannelCredentials(pki::PeerRole server_role) const {
  grpc::experimental::TlsChannelCredentialsOptions options;
  ConfigureVerification(certificates_, settings_.job, {server_role}, options);
  options.set_verify_server_certs(true);
  // Servers are identified by job and role, not by host name.
  options.set_check_call_host(false);
  return grpc::experimental::TlsCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> TransportSecurity::ServerCredentials(
    std::vector<pki::PeerRole> callers) const {
  grpc::experimental::TlsServerCredentialsOptions options(certificates_);
  ConfigureVerification(certificates_, settings_.job, {std::begin(pki::kPeerRoles), std::end(pki::kPeerRoles)},
                        options);
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::experimental::TlsServerCredentials(options);
  credentials->SetAuthMetadataProcessor(std::make_shared<CallerCheck>(settings_.job, std::move(callers)));
  return credentials;
}

}  // namespace espalier::rpc
