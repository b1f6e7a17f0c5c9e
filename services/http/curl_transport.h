// HTTP by libcurl: TLS, proxies by the environment (https_proxy, http_proxy, no_proxy), IPv4 and IPv6, and
// connections that are kept and used again.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "services/base/mutex.h"
#include "services/http/transport.h"

namespace espalier::http {

struct CurlOptions {
  std::string ca_file;  // PEM; empty: the system's
  std::chrono::milliseconds connect_timeout{5000};
  // Connections without work that are kept for later; those in use have no limit but the callers'.
  size_t max_idle_connections = 32;
};

// Every call that runs has a connection of its own; the last one given back is the first taken again.
class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(CurlOptions options = {});
  ~CurlTransport() override;
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  Result<Response> Send(const Request& request, const SendOptions& options) override;

 private:
  class Handle;  // an easy handle, with its connection
  std::unique_ptr<Handle> TakeHandle();
  void GiveBack(std::unique_ptr<Handle> handle);
  Status ExplainEmptyReply(Status status, const Request& request, const SendOptions& options);

  const CurlOptions options_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Handle>> idle_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> answered_origins_ ABSL_GUARDED_BY(mutex_);  // that have answered at least once
};

}  // namespace espalier::http
