// A pool that keeps http_clients, each with at most one connection, for later requests.
//
// cpprestsdk ("the library") pools connections within an http_client, and decides by itself which connection to reuse
// and which requests to send again. To control this, each http_client of this pool carries one request at a time and so
// has at most one connection. After any error the http_client and its connection are dropped. A new http_client always
// opens a new connection, so it cannot use one that the server has closed.
#pragma once

#include <cpprest/http_client.h>

#include <chrono>
#include <memory>
#include <vector>

#include "operator/client/connection.h"
#include "operator/client/cpprest/endpoint.h"
#include "operator/client/cpprest/tls_setup.h"

namespace espalier::ctl::client {

struct PooledClient {
  web::http::client::http_client http;
  std::shared_ptr<Refusal> refusal;  // why the server's certificate was refused, if it was
  uint64_t generation = 0;           // of the pool when the client was made (ClientPool::Renew)
  bool is_reused = false;            // has carried an earlier request
};

// Thread-safe.
class ClientPool {
 public:
  ClientPool(const Connection& connection, Endpoint endpoint, AuthorityPaths system,
             std::chrono::milliseconds tunnel_timeout);

  // Returns an idle client whose connection uses the client certificate in `credentials`, or a new client. Returns
  // FailedPrecondition if no client can be made.
  Result<std::shared_ptr<PooledClient>> Take(const Credentials& credentials);
  // Returns a new client, with the errors of Take.
  Result<std::shared_ptr<PooledClient>> TakeNew(const Credentials& credentials);
  // Puts a client back after its response was read to the end. Drops it if it was made before the last Renew or change
  // of the client certificate, or if there are too many idle clients.
  void Return(std::shared_ptr<PooledClient> client);
  // Prevents the reuse of all current clients, idle or in use. Called after an error that other connections probably
  // have too, for example because the server was restarted.
  void Renew();

 private:
  using Clients = std::vector<std::shared_ptr<PooledClient>>;

  // Returns the generation of clients with these credentials. If the client certificate has changed, starts a new
  // generation and moves the idle clients to `dropped`.
  uint64_t SyncGeneration(const Credentials& credentials, Clients* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Result<std::shared_ptr<PooledClient>> Make(const Credentials& credentials, uint64_t generation) const;

  const Connection connection_;
  const Endpoint endpoint_;
  const AuthorityPaths system_;
  const std::chrono::milliseconds tunnel_timeout_;
  Mutex mutex_;
  Clients idle_ ABSL_GUARDED_BY(mutex_);             // most recently used last
  Credentials certificate_ ABSL_GUARDED_BY(mutex_);  // with the client certificate of this generation
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::ctl::client
