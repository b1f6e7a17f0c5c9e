// Connections that are kept for the next request.
//
// The library pools connections within an http_client and decides alone what to reuse and what to send again. Here each
// http_client carries one request at a time, and so has one connection at most: after anything strange it is thrown
// away together with its connection, and a new one has surely no connection that the server may have closed.
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
  std::shared_ptr<Refusal> refusal;
  uint64_t generation = 0;
  bool is_reused = false;
};

// Thread-safe.
class ClientPool {
 public:
  ClientPool(const Connection& connection, Endpoint endpoint, AuthorityPaths system,
             std::chrono::milliseconds tunnel_timeout);

  // An idle one whose connection shows the same certificate, or a new one.
  Result<std::shared_ptr<PooledClient>> Take(const Credentials& credentials);
  Result<std::shared_ptr<PooledClient>> TakeNew(const Credentials& credentials);
  // After an answer that was read to its end. Drops it where it is too old or there are many.
  void Return(std::shared_ptr<PooledClient> client);
  // What is idle now, and what is under way, is not used again: the server was restarted, or is gone.
  void Renew();

 private:
  uint64_t SyncGeneration(const Credentials& credentials) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Result<std::shared_ptr<PooledClient>> Make(const Credentials& credentials, uint64_t generation) const;

  const Connection connection_;
  const Endpoint endpoint_;
  const AuthorityPaths system_;
  const std::chrono::milliseconds tunnel_timeout_;
  Mutex mutex_;
  std::vector<std::shared_ptr<PooledClient>> idle_ ABSL_GUARDED_BY(mutex_);  // the last used at the end
  Credentials shown_ ABSL_GUARDED_BY(mutex_);  // whose certificate the connections of this generation show
  uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace espalier::ctl::client
