// A client of the Kubernetes API: sends the requests of kube/request.h over a transport, with rate limit and retries.
//
// Guarantees: Every call ends within ApiClientOptions::call_timeout, a list within this time for each page. If a 429 or
// 503 response has a Retry-After header in seconds, the request is retried after that time, at most 10 times and within
// the call_timeout. If no connection can be made, or the connection breaks, the request is retried once, provided that
// it is repeatable or was not completely sent. The client has no other retries. The transport retries once after a 401
// and, if it could not write a request to a reused connection, once on a new one. Every request, including the client's
// retries but not the transport's, takes a token of the rate limit. If a connection breaks, the server may have
// executed the request: a caller that creates objects must choose their names, so that a second create returns
// AlreadyExists.
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
  double qps = 50;     // requests per second; 0: no limit
  double burst = 100;  // requests at once after a pause
  // Time limit of a call (for a list: of each page), including retries and the wait for the rate limit.
  std::chrono::nanoseconds call_timeout = std::chrono::seconds(30);
};

struct ObjectList {
  std::vector<kube::Json> items;  // with apiVersion and kind, managedFields dropped
  std::string resource_version;
};

// Thread-safe. The transport, the metrics and the clock must outlive the client.
//
// Error messages start with the call, for example "GET pods default/x: ". Errors of the server have the codes of
// kube::ToStatus. Other errors: Unavailable: no credentials, no connection, or the connection broke; Unauthenticated:
// the server's certificate is not accepted; DeadlineExceeded; Cancelled: Stop was called, or `stop` was requested;
// ResourceExhausted: the response is too large; Internal: an invalid response; InvalidArgument: an invalid name or
// namespace, nothing was sent.
class ApiClient {
 public:
  ApiClient(HttpTransport& transport, ApiClientOptions options, ClientMetrics& metrics, Clock& clock = Clock::Real());

  // Returns the object without metadata.managedFields.
  Result<kube::Json> Get(const kube::Resource& resource, const kube::ObjectKey& key);
  // Returns the object with metadata.managedFields.
  Result<kube::Json> GetWithManagedFields(const kube::Resource& resource, const kube::ObjectKey& key);
  // Returns the objects of all pages. If a continue token has expired, the list restarts once without paging. A page
  // that is too large for the transport or the parser is requested again in smaller pages. `options.continue_token`
  // must be empty.
  Result<ObjectList> List(const kube::Resource& resource, const kube::ListOptions& options);
  // Calls `page` for each page, so that a list need not be in memory as a whole, and returns the list's
  // resourceVersion. If `page` returns false, the call ends with Cancelled. `restart` is called when the list starts
  // over; the caller must then discard all pages that it has received.
  Result<std::string> ListPages(const kube::Resource& resource, const kube::ListOptions& options,
                                const std::function<bool(std::vector<kube::Json>)>& page,
                                const std::function<void()>& restart, const std::stop_token& stop = {});
  // Opens a watch and returns the stream of its lines, each of which kube::ParseWatchEvent parses. An ERROR event is a
  // line, not an error. `stop` applies until the stream is open.
  Result<std::unique_ptr<LineStream>> Watch(const kube::Resource& resource, const kube::WatchOptions& options,
                                            const std::stop_token& stop = {});

  // The writes below return the object as the server stored it, without metadata.managedFields.

  // Returns AlreadyExists if an object has the name.
  Result<kube::Json> Create(const kube::Resource& resource, const kube::Json& object);
  // Sends an object that the server evaluates but does not store (TokenReview, SubjectAccessReview), and returns it
  // with the status that the server has filled in. The object has no metadata. Error messages do not contain the
  // object.
  Result<kube::Json> Review(const kube::Resource& resource, const kube::Json& object);
  // Returns Aborted if the object's resourceVersion is not the newest.
  Result<kube::Json> Replace(const kube::Resource& resource, const kube::Json& object);
  // Applies the object (server-side apply). If options.field_manager is empty, uses the client's field manager.
  Result<kube::Json> Apply(const kube::Resource& resource, const kube::Json& object, const kube::ApplyOptions& options);
  Result<kube::Json> ApplyStatus(const kube::Resource& resource, const kube::Json& object,
                                 const kube::ApplyOptions& options);
  // Changes the object by a JSON merge patch (RFC 7396).
  Result<kube::Json> MergePatch(const kube::Resource& resource, const kube::ObjectKey& key, const kube::Json& patch);
  // Like MergePatch, for the status subresource.
  Result<kube::Json> MergePatchStatus(const kube::Resource& resource, const kube::ObjectKey& key,
                                      const kube::Json& patch);
  // Returns OK even if the object does not exist. Returns Aborted if its uid or resourceVersion differs from that in
  // `options`.
  Status Delete(const kube::Resource& resource, const kube::ObjectKey& key, const kube::DeleteOptions& options);

  const ApiClientOptions& options() const { return options_; }
  // Makes current and later calls end with Cancelled. Open streams are not affected; their owners must cancel them.
  void Stop();

 private:
  using Attempt = std::function<Result<HttpResponse>()>;

  Deadline CallDeadline() { return Deadline::After(options_.call_timeout, clock_); }
  Result<HttpResponse> Call(const kube::HttpRequest& request, const std::stop_token& stop);
  Result<HttpResponse> SendWithRetries(const kube::HttpRequest& request, Deadline deadline, const std::stop_token& stop,
                                       const Attempt& attempt);
  Result<HttpResponse> RunAndCount(const std::string& method, const Attempt& attempt);
  Status WaitForRateLimit(Deadline deadline, const std::stop_token& stop);
  Status Pause(std::chrono::nanoseconds duration, const std::stop_token& stop);
  Status MakeStopError() const;
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
