// Each client has the generation number of the pool at the time when it was made. Renew and a new client certificate
// drop the idle clients and increase the pool's number; clients that were in use are dropped by Return, because their
// number is older. Make configures a client: TLS by SetUpTls, socket options and proxy; it disables the library's
// redirects and, except for tunnels, the library's timeouts.
#include "operator/client/cpprest/client_pool.h"

#include <boost/asio/ssl.hpp>

#include "operator/client/cpprest/failure.h"
#include "operator/client/cpprest/socket_options.h"

namespace espalier::ctl::client {
namespace {

// An idle client takes some kilobytes. The library closes its connection after 30 to 60 s without use.
constexpr size_t kMaxIdle = 64;

// A timeout so long that the library's timer does not fire. The timer is not useful: it restarts with every byte, it
// also runs while a slow reader makes the server wait, and it has races when it fires. The deadlines of calls replace
// it. Tunnels are an exception: until a proxy has answered CONNECT, the library ignores a cancellation, and only the
// timer closes the socket.
constexpr std::chrono::hours kNever{24};

using TlsStream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>;

void ConfigureProxy(const Endpoint& endpoint, web::http::client::http_client_config& config) {
  if (endpoint.proxy_uri.empty()) return;
  web::web_proxy proxy{web::uri(endpoint.proxy_uri)};
  if (!endpoint.proxy_user.empty()) {
    proxy.set_credentials(web::credentials(endpoint.proxy_user, endpoint.proxy_password.Reveal()));
  }
  config.set_proxy(proxy);
}

void ConfigureSockets(const Endpoint& endpoint, bool tls, web::http::client::http_client_config& config) {
  // With a tunnel the callback is called for a socket, before the tunnel is open, and for a TLS stream afterwards, and
  // cannot distinguish the two.
  if (tls && !endpoint.proxy_uri.empty()) return;
  config.set_nativehandle_options([family = endpoint.address_family, tls](web::http::client::native_handle handle) {
    SetSocketOptions(
        tls ? static_cast<TlsStream*>(handle)->next_layer() : *static_cast<boost::asio::ip::tcp::socket*>(handle),
        family);
  });
}

}  // namespace

ClientPool::ClientPool(const Connection& connection, Endpoint endpoint, AuthorityPaths system,
                       std::chrono::milliseconds tunnel_timeout)
    : connection_(connection),
      endpoint_(std::move(endpoint)),
      system_(std::move(system)),
      tunnel_timeout_(tunnel_timeout) {}

Result<std::shared_ptr<PooledClient>> ClientPool::Take(const Credentials& credentials) {
  uint64_t generation = 0;
  Clients dropped;  // its destruction closes connections, so it is declared before the lock
  {
    MutexLock lock(&mutex_);
    generation = SyncGeneration(credentials, &dropped);
    if (!idle_.empty()) {
      std::shared_ptr<PooledClient> client = std::move(idle_.back());
      idle_.pop_back();
      client->is_reused = true;
      client->refusal->Set("");
      return client;
    }
  }
  return Make(credentials, generation);
}

Result<std::shared_ptr<PooledClient>> ClientPool::TakeNew(const Credentials& credentials) {
  uint64_t generation = 0;
  Clients dropped;  // its destruction closes connections, so it is declared before the lock
  {
    MutexLock lock(&mutex_);
    generation = SyncGeneration(credentials, &dropped);
  }
  return Make(credentials, generation);
}

void ClientPool::Return(std::shared_ptr<PooledClient> client) {
  MutexLock lock(&mutex_);
  if (client->generation == generation_ && idle_.size() < kMaxIdle) idle_.push_back(std::move(client));
}

void ClientPool::Renew() {
  Clients dropped;  // its destruction closes connections, so it is declared before the lock
  MutexLock lock(&mutex_);
  dropped.swap(idle_);
  ++generation_;
}

uint64_t ClientPool::SyncGeneration(const Credentials& credentials, Clients* dropped) {
  if (!HaveSameCertificate(credentials, certificate_)) {
    dropped->swap(idle_);
    certificate_ = credentials;
    ++generation_;
  }
  return generation_;
}

Result<std::shared_ptr<PooledClient>> ClientPool::Make(const Credentials& credentials, uint64_t generation) const {
  try {
    const auto settings = std::make_shared<const TlsSettings>(TlsSettings{
        .server_name = connection_.server_name.empty() ? connection_.host : connection_.server_name,
        .ca_file = connection_.ca_file,
        .ca_pem = connection_.ca_pem,
        .system = system_,
        .client_certificate_pem = credentials.client_certificate_pem,
        .client_key_pem = credentials.client_key_pem,
    });
    const auto refusal = std::make_shared<Refusal>();
    web::http::client::http_client_config config;
    const bool is_tunnel = connection_.tls && !endpoint_.proxy_uri.empty();
    config.set_timeout(is_tunnel ? tunnel_timeout_ : std::chrono::milliseconds(kNever));
    config.set_max_redirects(0);
    config.set_tlsext_sni_enabled(false);  // tls_setup.cc sends the name
    config.set_validate_certificates(!connection_.skip_verification);
    config.set_ssl_context_callback(
        [settings, refusal = connection_.skip_verification ? nullptr : refusal](boost::asio::ssl::context& context) {
          const Status status = SetUpTls(context.native_handle(), *settings, refusal);
          if (!status.ok()) throw StatusException(status);
        });
    ConfigureProxy(endpoint_, config);
    ConfigureSockets(endpoint_, connection_.tls, config);
    return std::make_shared<PooledClient>(PooledClient{
        .http = web::http::client::http_client(web::uri(endpoint_.base_uri), config),
        .refusal = refusal,
        .generation = generation,
    });
  } catch (const std::exception& e) {
    return FailedPrecondition("cannot make a client for " + endpoint_.label + ": " + e.what());
  }
}

}  // namespace espalier::ctl::client
