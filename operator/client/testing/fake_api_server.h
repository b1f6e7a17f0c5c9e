// An API server in memory, behind the transport interface. It has objects of the kinds of kube/resource.h with
// resourceVersions, uids and generations; create, replace, server-side apply, merge patch, delete with preconditions,
// status subresources, paged lists, watches with bookmarks, conflicts, 410 after compaction, and garbage collection by
// owner references. Its behavior is tested by the suite of api_server_suite.h, which the real kube-apiserver passes
// too. The server lacks authentication, admission, defaults, scale subresources and the visibility of an Event in both
// of its API groups. It validates only unknown top-level fields, and merges only conditions and owner references by
// key. The suite does not test these missing parts.
//
//   fake_api_server_request   parses requests
//   fake_api_server_kinds     differences between kinds
//   fake_api_server_writes    a write to one object, as a function of the stored object and the request
//   fake_api_server_fields    fields and their field managers
//   fake_api_server_object    one version of one object, and selectors
//   fake_api_server_store     all objects; fake_api_server_collector.cc: deletion and garbage collection
//   fake_api_server_lists     lists in pages
//   fake_api_server_watch     the history of each kind and its watches
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/client/transport.h"
#include "operator/kube/json.h"
#include "operator/kube/resource.h"
#include "operator/kube/time.h"

namespace espalier::ctl::client {

struct FakeApiServerOptions {
  Clock* clock = &Clock::Real();             // for timeouts and bookmarks of watches; must outlive the server
  std::function<kube::WallTime()> wall_now;  // for creationTimestamp and others; empty: the system's clock
  std::chrono::seconds bookmark_interval{60};
  size_t history_per_kind = 4096;  // events that are kept; watches from older versions get 410
};

// Thread-safe.
class FakeApiServer {
 public:
  explicit FakeApiServer(FakeApiServerOptions options = {});
  ~FakeApiServer();

  // Returns a client; there may be any number. `user_agent` is its name in the log.
  std::unique_ptr<HttpTransport> Connect(std::string user_agent = "");

  // Write to the store directly, including the status, as the controllers of a cluster do. Watches see the changes.
  Status Put(const kube::Resource& resource, kube::Json object);  // creates or replaces, ignoring the resourceVersion
  Status Update(const kube::Resource& resource, const kube::ObjectKey& key,
                const std::function<void(kube::Json&)>& change);  // NotFound if there is no object
  // Removes an object immediately, ignoring finalizers and grace period, and garbage-collects its dependents.
  Status Remove(const kube::Resource& resource, const kube::ObjectKey& key);
  std::vector<kube::Json> All(const kube::Resource& resource) const;
  // For repeated calls: objects that are unchanged since the call that filled `known` are not parsed again.
  struct KnownObject {
    std::shared_ptr<const void> version;
    std::shared_ptr<const kube::Json> object;
  };
  using KnownObjects = std::map<kube::ObjectKey, KnownObject>;
  std::vector<std::shared_ptr<const kube::Json>> All(const kube::Resource& resource, KnownObjects* known) const;
  std::optional<kube::Json> Find(const kube::Resource& resource, const kube::ObjectKey& key) const;
  size_t Count(const kube::Resource& resource) const;

  // Drops the history of watches and the snapshots of paged lists: requests for older versions get 410.
  void Compact();
  // Ends every open watch, with an error (broken) or cleanly.
  void CutWatches(bool broken);
  // Makes all watches silent without ending them, like a lost network, until it is called with false.
  void MuteWatches(bool mute);
  // Sends a bookmark to every open watch that allows them.
  void SendBookmarks();
  int64_t num_open_watches() const;

  // Called before each request is processed, and again with `is_done` afterwards. A result other than nullopt replaces
  // the response. If the first call returns one, the request is not executed; if the second call returns one, the
  // request was executed. Must be thread-safe.
  using Interceptor = std::function<std::optional<Result<HttpResponse>>(const kube::HttpRequest&, bool is_done)>;
  void SetInterceptor(Interceptor interceptor);

  struct LoggedRequest {
    std::string method;
    std::string target;
    int code = 0;  // 0: the interceptor returned an error without a code
    std::string user_agent;
  };
  std::vector<LoggedRequest> log() const;  // the newest 100,000 requests
  void ClearLog();
  int64_t num_requests() const;  // since the start

 private:
  class Impl;
  class Transport;
  std::shared_ptr<Impl> impl_;
};

}  // namespace espalier::ctl::client
