// The Kubernetes API as calls: requests of kube/request.h over a transport, with the limits and retries that every
// caller wants.
//
// Guarantees: every call ends by its deadline. 429 and 503 with Retry-After are repeated after that long, at most 10
// times, within the deadline; what may be repeated is repeated once after a broken connection; nothing else is. Every
// request, retries included, takes a token of the bucket. Caveat: what a broken connection carried may have been done:
// names are deterministic, so that doing it again finds AlreadyExists.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "operator/client/client_metrics.h"
#include "operator/client/token_bucket.h"
#include "operator/client/transport.h"
#include "operator/kube/api_error.h"
#include "operator/kube/request.h"

namespace espalier::ctl::client {

struct ApiClientOptions {
  std::string field_manager = "espalier-operator";
  double qps = 50;  // 0: no limit
  double burst = 100;
  // Of each call below, and of each page of a list, retries included.
  std::chrono::nanoseconds call_timeout = std::chrono::seconds(30);
};

struct ObjectList {
  std::vector<kube::Json> items;  // with apiVersion and kind, managedFields dropped
  std::string resource_version;
};

// Thread-safe. All outlive it.
//
// Errors have "GET pods default/x: " in front. Those of the server are as kube::ToStatus says; of the others,
// Unavailable: no connection, or it broke; DeadlineExceeded; Cancelled: Stop, or `stop`; Internal: an answer that is
// none; InvalidArgument: a name or namespace that cannot be (nothing was sent).
class ApiClient {
 public:
  ApiClient(HttpTransport& transport, ApiClientOptions options, ClientMetrics& metrics, Clock& clock = Clock::Real());

  Result<kube::Json> Get(const kube::Resource& resource, const kube::ObjectKey& key);
  // The same without leaving out metadata.managedFields.
  Result<kube::Json> GetWithManagedFields(const kube::Resource& resource, const kube::ObjectKey& key);
  // All pages. A continue token that has expired restarts the list once without pages; what is more than the transport
  // takes is asked for again in smaller pages. `options.continue_token` is empty.
  Result<ObjectList> List(const kube::Resource& resource, const kube::ListOptions& options);
  // Page by page, for lists that should not be in memory twice: `page` is called for each; false ends it (Cancelled).
  // `restart`: what was seen counts no more, everything comes again. Returns the list's resourceVersion.
  Result<std::string> ListPages(const kube::Resource& resource, const kube::ListOptions& options,
                                const std::function<bool(std::vector<kube::Json>)>& page,
                                const std::function<void()>& restart, const std::stop_token& stop = {});
  // Lines are kube::ParseWatchEvent's. Errors of opening as above; an ERROR event is a line. `stop` ends opening, not
  // the stream.
  Result<std::unique_ptr<LineStream>> Watch(const kube::Resource& resource, const kube::WatchOptions& options,
                                            const std::stop_token& stop = {});

  Result<kube::Json> Create(const kube::Resource& resource, const kube::Json& object);
  Result<kube::Json> Replace(const kube::Resource& resource,
                             const kube::Json& object);  // kAborted where it is not the newest
  // An empty options.field_manager is this client's.
  Result<kube::Json> Apply(const kube::Resource& resource, const kube::Json& object, const kube::ApplyOptions& options);
  Result<kube::Json> ApplyStatus(const kube::Resource& resource, const kube::Json& object,
                                 const kube::ApplyOptions& options);
  Result<kube::Json> MergePatch(const kube::Resource& resource, const kube::ObjectKey& key, const kube::Json& patch);
  // ok for what is gone already; kAborted where another object has the name now.
  Status Delete(const kube::Resource& resource, const kube::ObjectKey& key, const kube::DeleteOptions& options);

  const ApiClientOptions& options() const { return options_; }
  // Calls after this, and those that wait, end with Cancelled. Streams go on: who has one cancels it.
  void Stop();

 private:
  using Attempt = std::function<Result<HttpResponse>()>;

  Deadline CallDeadline() { return Deadline::After(options_.call_timeout, clock_); }
  Result<HttpResponse> Call(const kube::HttpRequest& request, const std::stop_token& stop);
  Result<HttpResponse> Repeat(const kube::HttpRequest& request, Deadline deadline, const std::stop_token& stop,
                              const Attempt& attempt);
  Result<HttpResponse> Timed(const std::string& method, const Attempt& attempt);
  Status TakeTurn(Deadline deadline, const std::stop_token& stop);
  Status Pause(std::chrono::nanoseconds duration, const std::stop_token& stop);
  Status Stopped() const;
  Result<kube::Json> CallForObject(const char* verb, const kube::Resource& resource, const kube::ObjectKey& key,
                                   const kube::HttpRequest& request,
                                   kube::ManagedFields managed_fields = kube::ManagedFields::kDrop);
  Result<kube::Json> ApplyTo(const kube::Resource& resource, const kube::Json& object, kube::ApplyOptions options,
                             const std::string& subresource);

  HttpTransport& transport_;
  const ApiClientOptions options_;
  ClientMetrics& metrics_;
  Clock& clock_;
  TokenBucket bucket_;     // thread-safe
  std::stop_source stop_;  // thread-safe
};

}  // namespace espalier::ctl::client
