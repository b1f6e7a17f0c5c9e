// A channel is an SSL object on the connection's own descriptor. SSL_read and SSL_write also do the handshake, so a
// channel has no state of its own: when OpenSSL must read or write first, the channel reports the event to wait for.
//
// The kubelet replaces a mounted Secret by renaming a symbolic link to a folder. Open, which is called for each new
// connection, therefore compares the device, inode and modification time of the certificate file and of the key file
// with the values at the last successful reading; if they differ, it reads the files again.
#include "operator/metrics_port/tls_channel.h"

#include <openssl/ssl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

#include "services/base/file.h"
#include "services/pki/openssl_handles.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::metrics_port {
namespace {

using pki::OpenSslError;
using telemetry::Transfer;
using ContextHandle = std::unique_ptr<SSL_CTX, pki::OpenSslFree<&SSL_CTX_free>>;
using ConnectionHandle = std::unique_ptr<SSL, pki::OpenSslFree<&SSL_free>>;

constexpr size_t kMaxPemBytes = 1 << 20;

class TlsChannel final : public telemetry::AdminChannel {
 public:
  explicit TlsChannel(ConnectionHandle connection) : connection_(std::move(connection)) {}

  Transfer Receive(std::span<char> buffer) override {
    ERR_clear_error();
    size_t count = 0;
    const int result = SSL_read_ex(connection_.get(), buffer.data(), buffer.size(), &count);
    return ToTransfer(result, count);
  }
  Transfer Send(std::string_view bytes) override {
    ERR_clear_error();
    size_t count = 0;
    const int result = SSL_write_ex(connection_.get(), bytes.data(), bytes.size(), &count);
    return ToTransfer(result, count);
  }
  void Finish() override {
    ERR_clear_error();
    SSL_shutdown(connection_.get());  // sends close_notify and does not wait for the peer's
    ERR_clear_error();
  }

 private:
  Transfer ToTransfer(int result, size_t count) {
    if (result > 0) return {Transfer::State::kMoved, count, 0};
    const int error = SSL_get_error(connection_.get(), result);
    ERR_clear_error();
    if (error == SSL_ERROR_WANT_READ) return {Transfer::State::kWaits, 0, POLLIN};
    if (error == SSL_ERROR_WANT_WRITE) return {Transfer::State::kWaits, 0, POLLOUT};
    return {Transfer::State::kFinished, 0, 0};
  }

  const ConnectionHandle connection_;
};

// Device, inode and modification time of both files, which identify their contents.
using Versions = std::array<int64_t, 8>;

Versions ReadVersions(const CertificateFiles& files) {
  Versions versions{};
  size_t next = 0;
  for (const std::string* path : {&files.certificate, &files.key}) {
    struct stat found {};
    if (stat(path->c_str(), &found) != 0) found = {};
    versions[next++] = static_cast<int64_t>(found.st_dev);
    versions[next++] = static_cast<int64_t>(found.st_ino);
    versions[next++] = found.st_mtim.tv_sec;
    versions[next++] = found.st_mtim.tv_nsec;
  }
  return versions;
}

// Makes the context use the certificate, its chain and its key.
Status UseCertificate(SSL_CTX* context, const std::vector<pki::CertificateHandle>& chain, EVP_PKEY* key) {
  bool used = SSL_CTX_use_certificate(context, chain[0].get()) == 1;
  for (size_t i = 1; used && i < chain.size(); ++i) used = SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
  if (!used) return OpenSslError(StatusCode::kInvalidArgument, "using the certificate");
  if (SSL_CTX_use_PrivateKey(context, key) != 1) {
    ERR_clear_error();
    return InvalidArgument("the key is of another certificate");
  }
  return Status();
}

Result<ContextHandle> MakeContext(const std::string& certificate_pem, const std::string& key_pem) {
  const std::vector<pki::CertificateHandle> chain = pki::ReadCertificates(certificate_pem);
  if (chain.empty()) return InvalidArgument("expected a valid PEM certificate");
  const pki::KeyHandle key = pki::ReadKey(key_pem);
  if (key == nullptr) return InvalidArgument("expected a PEM private key that is not encrypted");
  ContextHandle context(SSL_CTX_new(TLS_server_method()));
  if (context == nullptr) return OpenSslError(StatusCode::kInternal, "making a TLS context");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  // Sessions are not resumed: a resumed session would continue with a certificate that was replaced.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  RETURN_IF_ERROR(UseCertificate(context.get(), chain, key.get()));
  return context;
}

Result<ContextHandle> ReadContext(const CertificateFiles& files) {
  ASSIGN_OR_RETURN(const std::string certificate, ReadFile(files.certificate, kMaxPemBytes, FileKinds::kRegular));
  ASSIGN_OR_RETURN(const std::string key, ReadFile(files.key, kMaxPemBytes, FileKinds::kRegular));
  Result<ContextHandle> context = MakeContext(certificate, key);
  if (!context.ok()) return context.status().While(files.certificate + " and " + files.key);
  return context;
}

}  // namespace

struct TlsChannels::State {
  CertificateFiles files;  // empty: a fixed certificate
  Versions versions{};     // of the files whose certificate is used
  Versions failed{};       // of the files at the last reading that failed
  ContextHandle context;
};

TlsChannels::TlsChannels(std::unique_ptr<State> state) : state_(std::move(state)) {}
TlsChannels::~TlsChannels() = default;

Result<std::unique_ptr<TlsChannels>> TlsChannels::FromFiles(CertificateFiles files) {
  auto state = std::make_unique<State>();
  state->versions = ReadVersions(files);  // before reading, so that a later change is noticed
  ASSIGN_OR_RETURN(state->context, ReadContext(files));
  state->files = std::move(files);
  return std::unique_ptr<TlsChannels>(new TlsChannels(std::move(state)));
}

Result<std::unique_ptr<TlsChannels>> TlsChannels::FromPair(const pki::KeyAndCertificate& pair) {
  auto state = std::make_unique<State>();
  ASSIGN_OR_RETURN(state->context, MakeContext(pair.certificate_pem, pair.key_pem.Reveal()));
  return std::unique_ptr<TlsChannels>(new TlsChannels(std::move(state)));
}

std::unique_ptr<telemetry::AdminChannel> TlsChannels::Open(int descriptor) {
  if (!state_->files.certificate.empty()) {
    const Versions versions = ReadVersions(state_->files);
    if (versions != state_->versions) {
      Result<ContextHandle> renewed = ReadContext(state_->files);
      if (renewed.ok()) {
        state_->versions = versions;  // after an error, the next connection tries again
        state_->context = *std::move(renewed);
        telemetry::Log(telemetry::Level::kInfo, "certificate of the metrics port read again");
      } else if (versions != std::exchange(state_->failed, versions)) {
        telemetry::Log(telemetry::Level::kWarning, "the metrics port keeps its previous certificate",
                       {{"error", renewed.status()}});
      }
    }
  }
  ConnectionHandle connection(SSL_new(state_->context.get()));  // holds a reference to the context
  if (connection == nullptr || SSL_set_fd(connection.get(), descriptor) != 1) {
    ERR_clear_error();
    return nullptr;
  }
  SSL_set_accept_state(connection.get());
  return std::make_unique<TlsChannel>(std::move(connection));
}

}  // namespace espalier::ctl::metrics_port
