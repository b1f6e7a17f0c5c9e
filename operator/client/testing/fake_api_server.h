// An API server in memory, behind the transport interface: objects of the kinds of kube/resource.h with
// resourceVersions, uids and generations; create, replace, server-side apply, merge patch, delete with preconditions,
// status subresources, paged lists, watches with bookmarks, conflicts, 410 after compaction, owner references collected
// in the background. What it promises is the behaviour suite of api_server_suite.h, which the real kube-apiserver
// passes too. What it does not do (and the suite does not ask): authentication, admission, defaults, schema validation
// other than unknown top-level fields, scale subresources, one Event seen under both of its API groups, lists in
// objects merged by key other than conditions and owner references.
//
//   fake_api_server_request   what a request asks for
//   fake_api_server_kinds     how kinds differ
//   fake_api_server_writes    a write to one object, as a function of what is stored
//   fake_api_server_fields    which field manager owns which field
//   fake_api_server_object    one version of one object, and selectors
//   fake_api_server_store     all objects; fake_api_server_collector.cc: their ends, and the garbage collector
//   fake_api_server_lists     lists in pages
//   fake_api_server_watch     the history of each kind, and who reads it
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
  Clock* clock = &Clock::Real();             // of watches: their ends and bookmarks; outlives the server
  std::function<kube::WallTime()> wall_now;  // of creationTimestamp and others; empty: the system's
  std::chrono::seconds bookmark_interval{60};
  size_t history_per_kind = 4096;  // events; watches from before are 410
};

// Thread-safe.
class FakeApiServer {
 public:
  explicit FakeApiServer(FakeApiServerOptions options = {});
  ~FakeApiServer();

  // Any number of clients; outlived by this. `user_agent` is what the log calls it.
  std::unique_ptr<HttpTransport> Connect(std::string user_agent = "");

  // As the cluster's own controllers would: straight into the store, status included, watchers told.
  Status Put(const kube::Resource& resource, kube::Json object);  // create or replace, whatever its resourceVersion
  Status Update(const kube::Resource& resource, const kube::ObjectKey& key,
                const std::function<void(kube::Json&)>& change);  // NotFound
  // At once, whatever its finalizers and grace period; what it owned goes with it.
  Status Remove(const kube::Resource& resource, const kube::ObjectKey& key);
  std::vector<kube::Json> All(const kube::Resource& resource) const;
  // For who looks again and again: what `known` holds since the last look, and has not changed, is not parsed again.
  struct KnownObject {
    std::shared_ptr<const void> version;
    std::shared_ptr<const kube::Json> object;
  };
  using KnownObjects = std::map<kube::ObjectKey, KnownObject>;
  std::vector<std::shared_ptr<const kube::Json>> All(const kube::Resource& resource, KnownObjects* known) const;
  std::optional<kube::Json> Find(const kube::Resource& resource, const kube::ObjectKey& key) const;
  size_t Count(const kube::Resource& resource) const;

  // Forgets the history of watches and the snapshots of paged lists: what is older is 410 from now on.
  void Compact();
  // Cuts every open watch, with an error (broken) or cleanly.
  void CutWatches(bool broken);
  // Makes watches silent for ever without ending them, as a lost network does; until false.
  void MuteWatches(bool mute);
  // A bookmark to every open watch that allows them, now.
  void SendBookmarks();
  int64_t num_open_watches() const;

  // Called before each request is looked at; what it returns is the answer in place of the server's (nullopt: go on).
  // After that, it is called a second time with `is_done` when the request has been carried out: an answer then is a
  // lost one. Several threads call it at once.
  using Interceptor = std::function<std::optional<Result<HttpResponse>>(const kube::HttpRequest&, bool is_done)>;
  void SetInterceptor(Interceptor interceptor);

  struct LoggedRequest {
    std::string method;
    std::string target;
    int code = 0;  // 0: the interceptor answered without one
    std::string user_agent;
  };
  std::vector<LoggedRequest> log() const;  // the newest 100,000
  void ClearLog();
  int64_t num_requests() const;  // ever

 private:
  class Impl;
  class Transport;
  std::shared_ptr<Impl> impl_;
};

}  // namespace espalier::ctl::client
