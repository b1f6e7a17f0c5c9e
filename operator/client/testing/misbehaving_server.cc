// One thread accepts connections, and each connection has a thread that runs the test's behavior on blocking sockets.
// Stop shuts the sockets down, which makes all blocking calls return, and joins the threads.
#include "operator/client/testing/misbehaving_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "services/base/check.h"
#include "services/telemetry/listen_socket.h"

namespace espalier::ctl::client {
namespace {

constexpr std::chrono::seconds kWaitTimeout{10};

std::shared_ptr<BIO> Reading(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free_all};
}

std::shared_ptr<X509> ParseCertificate(const std::string& pem) {
  return {PEM_read_bio_X509(Reading(pem).get(), nullptr, nullptr, nullptr), X509_free};
}

std::shared_ptr<SSL_CTX> MakeContext(const ServerOptions& options) {
  if (!options.certificate) return nullptr;
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  const std::shared_ptr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(Reading(options.certificate->key_pem).get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  ESPALIER_CHECK(SSL_CTX_use_certificate(context.get(), ParseCertificate(options.certificate->certificate_pem).get()) ==
                 1);
  ESPALIER_CHECK(SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1);
  SSL_CTX_set_max_proto_version(context.get(), options.max_tls_version);
  SSL_CTX_set_security_level(context.get(), 0);  // allows tests with TLS 1.1
  if (!options.client_ca_pem.empty()) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), ParseCertificate(options.client_ca_pem).get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

std::string ClientName(SSL* ssl) {
  const std::shared_ptr<X509> certificate(SSL_get1_peer_certificate(ssl), X509_free);
  char name[256] = "";
  if (certificate) {
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name, sizeof(name));
  }
  return name;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

ReceivedRequest ParseHead(const std::string& head) {
  ReceivedRequest request;
  size_t at = head.find("\r\n");
  const std::string line = head.substr(0, at);
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  request.method = line.substr(0, first);
  request.target = line.substr(first + 1, last - first - 1);
  while (at + 2 < head.size()) {
    const size_t end = head.find("\r\n", at + 2);
    const std::string header = head.substr(at + 2, end - at - 2);
    const size_t colon = header.find(':');
    if (colon != std::string::npos) {
      std::string& value = request.headers[Lower(header.substr(0, colon))];
      value += (value.empty() ? "" : "\n") + header.substr(header.find_first_not_of(' ', colon + 1));
    }
    at = end;
  }
  return request;
}

}  // namespace

bool ServerConnection::Fill() {
  char bytes[65536];
  const int count = ssl_ != nullptr ? SSL_read(ssl_, bytes, sizeof(bytes))
                                    : static_cast<int>(recv(descriptor_, bytes, sizeof(bytes), 0));
  if (count <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(count));
  return true;
}

std::optional<ReceivedRequest> ServerConnection::ReadHead() {
  size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
    if (!Fill()) return std::nullopt;
  }
  ReceivedRequest request = ParseHead(buffer_.substr(0, end + 2));
  buffer_.erase(0, end + 4);
  request.connection = number_;
  if (ssl_ != nullptr) {
    request.client_name = ClientName(ssl_);
    const char* name = SSL_get_servername(ssl_, TLSEXT_NAMETYPE_host_name);
    request.server_name = name == nullptr ? "" : name;
  }
  return request;
}

std::optional<ReceivedRequest> ServerConnection::Read() {
  std::optional<ReceivedRequest> request = ReadHead();
  if (!request) return std::nullopt;
  const auto length = request->headers.find("content-length");
  const size_t size = length == request->headers.end() ? 0 : std::stoul(length->second);
  while (buffer_.size() < size) {
    if (!Fill()) return std::nullopt;
  }
  request->body = buffer_.substr(0, size);
  buffer_.erase(0, size);
  server_->Record(*request);
  return request;
}

bool ServerConnection::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const int size = static_cast<int>(std::min<size_t>(bytes.size(), 1 << 20));
    const int count = ssl_ != nullptr
                          ? SSL_write(ssl_, bytes.data(), size)
                          : static_cast<int>(send(descriptor_, bytes.data(), static_cast<size_t>(size), MSG_NOSIGNAL));
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

bool ServerConnection::Answer(int code, std::string_view body, std::string_view headers) {
  return Write("HTTP/1.1 " + std::to_string(code) + " Said\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
               std::string(headers) + "\r\n" + std::string(body));
}

bool ServerConnection::StartChunks(int code) {
  return Write("HTTP/1.1 " + std::to_string(code) + " Said\r\nTransfer-Encoding: chunked\r\n\r\n");
}

bool ServerConnection::Chunk(std::string_view bytes) {
  char size[32];
  snprintf(size, sizeof(size), "%zx\r\n", bytes.size());
  return Write(size + std::string(bytes) + "\r\n");
}

void ServerConnection::AnswerAll() {
  while (Read() && Answer(200, "ok")) {
  }
}

void ServerConnection::AwaitClose() {
  while (Fill()) buffer_.clear();
}

bool ServerConnection::StartTls() {
  ssl_ = SSL_new(server_->tls_.get());
  SSL_set_fd(ssl_, descriptor_);
  return SSL_accept(ssl_) == 1;
}

void ServerConnection::Reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

MisbehavingServer::MisbehavingServer(Behavior behavior, ServerOptions options)
    : behavior_(std::move(behavior)), options_(std::move(options)), tls_(MakeContext(options_)) {
  Start();
}

MisbehavingServer::~MisbehavingServer() {
  if (listener_ >= 0) Stop();
}

void MisbehavingServer::Start() {
  const std::string host = options_.host.find(':') == std::string::npos ? options_.host : "[" + options_.host + "]";
  const Result<telemetry::ListenSocket> listening = telemetry::ListenOn(host + ":" + std::to_string(port_));
  ESPALIER_CHECK(listening.ok()) << listening.status().ToString();
  listener_ = listening->descriptor;
  port_ = static_cast<uint16_t>(std::stoi(listening->address.substr(listening->address.rfind(':') + 1)));
  is_stopping_ = false;
  accepting_ = std::thread([this] { Accept(); });
}

void MisbehavingServer::Stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    for (const auto& [number, descriptor] : open_) shutdown(descriptor, SHUT_RDWR);
  }
  shutdown(listener_, SHUT_RDWR);
  accepting_.join();
  close(listener_);
  listener_ = -1;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void MisbehavingServer::Accept() {
  while (true) {
    pollfd readable{.fd = listener_, .events = POLLIN, .revents = 0};
    poll(&readable, 1, -1);
    const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (is_stopping_) {
      if (descriptor >= 0) close(descriptor);
      return;
    }
    if (descriptor < 0) continue;
    const int yes = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    const int number = ++num_connections_;
    open_[number] = descriptor;
    threads_.emplace_back([this, descriptor, number] { Serve(descriptor, number); });
  }
}

void MisbehavingServer::Serve(int descriptor, int number) {
  ServerConnection connection(this, descriptor, number);
  if (!tls_ || !options_.starts_with_tls || connection.StartTls()) behavior_(connection);
  SSL_free(connection.ssl_);
  ERR_clear_error();
  const std::lock_guard lock(mutex_);
  open_.erase(number);
  close(descriptor);
  changed_.notify_all();
}

void MisbehavingServer::Record(const ReceivedRequest& request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(request);
  changed_.notify_all();
}

std::vector<ReceivedRequest> MisbehavingServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

int MisbehavingServer::num_connections() const {
  const std::lock_guard lock(mutex_);
  return num_connections_;
}

bool MisbehavingServer::AwaitRequests(size_t count) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kWaitTimeout, [&] { return requests_.size() >= count; });
}

bool MisbehavingServer::AwaitNoConnections() const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, kWaitTimeout, [&] { return open_.empty(); });
}

}  // namespace espalier::ctl::client
