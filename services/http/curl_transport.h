// HTTP over libcurl with TLS, proxies from the environment (https_proxy, http_proxy, no_proxy), IPv4 and IPv6, and
// reused connections.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "services/base/mutex.h"
#include "services/http/transport.h"

namespace espalier::http {

struct CurlOptions {
  std::string ca_file;  // PEM; empty: the system's CA certificates
  std::chrono::milliseconds connect_timeout{5000};
  // Maximum number of idle handles to keep, each with up to two connections. The number of handles in use is not
  // limited.
  size_t max_idle_handles = 32;
};

// Each running call uses its own connection. The most recently released handle is reused first.
class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(CurlOptions options = {});
  ~CurlTransport() override;
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  Result<Response> Send(const Request& request, const SendOptions& options) override;

 private:
  class Handle;  // an easy handle of curl with its connections
  std::unique_ptr<Handle> TakeHandle();
  void GiveBack(std::unique_ptr<Handle> handle);
  Status ExplainEmptyReply(Status status, const Request& request, const SendOptions& options);

  const CurlOptions options_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Handle>> idle_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> answered_origins_ ABSL_GUARDED_BY(mutex_);  // origins that have sent a response
};

}  // namespace espalier::http
