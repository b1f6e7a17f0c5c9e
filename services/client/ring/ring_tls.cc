// The socket BIO of OpenSSL writes with write(2), which raises SIGPIPE when the peer has closed the connection. The BIO
// in this file calls send and recv instead.
#include "services/client/ring/ring_tls.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "services/client/ring/ring_system_error.h"

namespace espalier::client {
namespace {

// Largest number of received bytes that OpenSSL reads with one system call.
constexpr size_t kReadAheadBytes = size_t{256} << 10;

using SslContextHandle = std::unique_ptr<SSL_CTX, pki::OpenSslFree<&SSL_CTX_free>>;

int SocketFrom(BIO* bio) { return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio))); }

bool MustRetry(ssize_t moved) { return moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR); }

int WriteToSocket(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = send(SocketFrom(bio), bytes, static_cast<size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (MustRetry(sent)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int ReadFromSocket(BIO* bio, char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t received = recv(SocketFrom(bio), bytes, static_cast<size_t>(size), MSG_DONTWAIT);
  if (MustRetry(received)) BIO_set_retry_read(bio);
  return static_cast<int>(received);
}

long ControlSocket(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

// Never freed: sessions may live until the process exits.
const BIO_METHOD* SocketMethod() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "ring socket");
    ESPALIER_CHECK(made != nullptr) << "no memory for a BIO_METHOD";
    BIO_meth_set_write(made, &WriteToSocket);
    BIO_meth_set_read(made, &ReadFromSocket);
    BIO_meth_set_ctrl(made, &ControlSocket);
    return made;
  }();
  return method;
}

// Refuses keys with a passphrase. Without this callback OpenSSL would ask for the passphrase at the terminal.
int RefusePassphrase(char*, int, int, void*) { return -1; }

Result<SslContextHandle> ReadContext(const rpc::TlsSettings& settings) {
  SslContextHandle context(SSL_CTX_new(TLS_method()));
  ESPALIER_CHECK(context != nullptr) << "no memory for an SSL_CTX";
  SSL_CTX* const made = context.get();
  SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION);
  SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
  // OpenSSL must not send session tickets or other messages of its own after the handshake: a rank that only sends
  // would not read them, and if it closes a connection with unread bytes, the kernel resets the connection, and the
  // last bytes that it has sent are lost.
  SSL_CTX_set_num_tickets(made, 0);
  SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_mode(made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(made, 1);
  SSL_CTX_set_default_read_buffer_len(made, kReadAheadBytes);
  SSL_CTX_set_default_passwd_cb(made, &RefusePassphrase);
  SSL_CTX_set_verify(made, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  const auto failed = [](const std::string& doing) {
    // If a system call failed, its error is the first one in OpenSSL's queue.
    const unsigned long error = ERR_peek_error();
    const Status reason = ERR_SYSTEM_ERROR(error) ? RingSystemError(ERR_GET_REASON(error), doing) : Status();
    Status failure = pki::OpenSslError(StatusCode::kFailedPrecondition, doing);
    return reason.code() == StatusCode::kResourceExhausted ? reason : failure;
  };
  if (SSL_CTX_use_certificate_chain_file(made, settings.certificate_file.c_str()) != 1)
    return failed("reading the certificate " + settings.certificate_file);
  if (SSL_CTX_use_PrivateKey_file(made, settings.key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    return failed("reading " + settings.key_file + ", the key of " + settings.certificate_file);
  if (SSL_CTX_load_verify_file(made, settings.ca_file.c_str()) != 1)
    return failed("reading the CA certificates in " + settings.ca_file);
  return context;
}

}  // namespace

Result<SslHandle> RingTls::MakeSession(int socket, TlsSide side) const {
  ASSIGN_OR_RETURN(const SslContextHandle context, ReadContext(settings_));
  SslHandle session(SSL_new(context.get()));
  BIO* const bio = BIO_new(SocketMethod());
  ESPALIER_CHECK(session != nullptr && bio != nullptr) << "no memory for a TLS session";
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(socket)));
  BIO_set_init(bio, 1);
  SSL_set_bio(session.get(), bio, bio);
  if (side == TlsSide::kAccepts) {
    SSL_set_accept_state(session.get());
  } else {
    SSL_set_connect_state(session.get());
  }
  return session;
}

Status RingTls::CheckPeer(const SSL* session, std::span<const pki::PeerRole> roles) const {
  const pki::CertificateHandle certificate(SSL_get1_peer_certificate(session));
  const std::vector<std::string> uri_names =
      certificate == nullptr ? std::vector<std::string>() : pki::ListUriNames(certificate.get());
  return pki::CheckPeer(uri_names, settings_.job, roles).status();
}

}  // namespace espalier::client
