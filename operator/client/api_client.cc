// All calls go through SendWithRetries, which takes a token of the rate limit, sends the request and decides about a
// retry. A request without a response is sent once more if that is safe, which follows from the transport's status code
// (FailedPrecondition: not executed; Unavailable: perhaps executed) and from HttpRequest::repeatable. A response 429 or
// 503 with Retry-After is followed by up to kMaxRepeats retries. ListPages requests a page that is too large for the
// transport or the parser again with a smaller page size.
#include "operator/client/api_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "operator/kube/object_meta.h"
#include "services/base/parse_number.h"

namespace espalier::ctl::client {
namespace {

using kube::Json;
using kube::ObjectKey;
using kube::Resource;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr int kMaxRepeats = 10;
constexpr nanoseconds kStopInterval = std::chrono::milliseconds(100);  // longest delay until Stop is noticed

// Returns a description of the call for error messages: "GET pods default/x".
std::string DescribeCall(const char* verb, const Resource& resource, const ObjectKey& key) {
  return std::string(verb) + " " + std::string(resource.plural) + " " + kube::ToString(key);
}

std::string DescribeCall(const char* verb, const Resource& resource, const std::string& name_space) {
  return std::string(verb) + " " + std::string(resource.plural) + (name_space.empty() ? "" : " in " + name_space);
}

bool IsSuccess(int code) { return code >= 200 && code < 300; }

Status ToError(const HttpResponse& response) {
  return kube::ToStatus(kube::ParseApiError(response.code, response.body));
}

// Returns how long the server asks to wait before a retry, or nullopt. Dates in Retry-After are not supported, because
// API servers send seconds.
std::optional<seconds> ParseRetryAfter(const HttpResponse& response) {
  if (response.code != 429 && response.code != 503) return std::nullopt;
  const std::string text = response.Header("Retry-After");
  const std::optional<uint32_t> delay = ParseNumber<uint32_t>(text);
  return delay ? std::optional(seconds(*delay)) : std::nullopt;
}

// Replaces the transport's kFailedPrecondition (the server has not executed the request) by kUnavailable. In results of
// ApiClient, kFailedPrecondition means that the caller must list again with resourceVersion "" (kube::ToStatus).
Status ToCallersStatus(Status status) {
  if (status.code() != StatusCode::kFailedPrecondition) return status;
  return Unavailable("not sent: " + status.message());
}

// Returns the JSON object in the body as `parse` reads it.
Result<Json> ParseBody(const HttpResponse& response, const std::function<Result<Json>(const std::string&)>& parse) {
  Result<Json> object = parse(response.body);
  if (!object.ok()) {
    const std::string text = "HTTP " + std::to_string(response.code) + ", but " + object.status().message();
    return object.status().code() == StatusCode::kResourceExhausted ? ResourceExhausted(text) : Internal(text);
  }
  if (!object->is_object())
    return Internal("HTTP " + std::to_string(response.code) + ", but the body is not a JSON object");
  if (kube::NestsTooDeep(*object)) {
    return Internal("HTTP " + std::to_string(response.code) + ", but the body nests deeper than " +
                    std::to_string(kube::kMaxJsonDepth) + " levels");
  }
  return object;
}

Result<Json> ParseObject(const HttpResponse& response, kube::ManagedFields managed_fields) {
  return ParseBody(response, [managed_fields](const std::string& body) {
    return managed_fields == kube::ManagedFields::kKeep ? kube::ParseJson(body)
                                                        : kube::ParseObjects(body, kube::ObjectsIn::kRoot);
  });
}

Result<Json> ParseList(const HttpResponse& response) {
  return ParseBody(response, [](const std::string& body) { return kube::ParseObjects(body, kube::ObjectsIn::kList); });
}

// Combines two stop tokens: a stop is requested on token() as soon as it is requested on one of the two.
class EitherStop {
 public:
  EitherStop(const std::stop_token& one, const std::stop_token& other)
      : when_one_(one, RequestStop{source_}), when_other_(other, RequestStop{source_}) {}
  std::stop_token token() const { return source_.get_token(); }

 private:
  struct RequestStop {
    std::stop_source source;
    void operator()() { source.request_stop(); }
  };
  std::stop_source source_;
  std::stop_callback<RequestStop> when_one_;
  std::stop_callback<RequestStop> when_other_;
};

// Returns the page size for the next try after a page of `limit` objects (0: no paging) was too large. Returns 0 if a
// page of one object was too large.
int SmallerLimit(int limit) { return limit == 0 ? kube::ListOptions().limit : limit / 2; }

struct Page {
  std::vector<Json> items;
  std::string resource_version;
  std::string continue_token;
};

Result<Page> ParsePage(const Resource& resource, const HttpResponse& response) {
  ASSIGN_OR_RETURN(Json list, ParseList(response));
  Page page{.resource_version = kube::StringAt(list, {"metadata", "resourceVersion"}),
            .continue_token = kube::StringAt(list, {"metadata", "continue"})};
  const auto items = list.find("items");
  if (items == list.end() || items->is_null()) return page;  // Go writes a nil slice as null
  if (!items->is_array()) return Internal("items is not a list");
  for (Json& item : *items) {
    if (!item.is_object()) return Internal("an item is not an object");
    // The items of built-in lists have no apiVersion and kind.
    item.emplace("apiVersion", resource.api_version());
    item.emplace("kind", std::string(resource.kind));
    page.items.push_back(std::move(item));
  }
  return page;
}

}  // namespace

ApiClient::ApiClient(HttpTransport& transport, ApiClientOptions options, ClientMetrics& metrics, Clock& clock)
    : transport_(transport),
      options_(std::move(options)),
      metrics_(metrics),
      clock_(clock),
      bucket_(options_.qps, options_.burst, clock) {}

void ApiClient::Stop() { stop_.request_stop(); }

Result<Json> ApiClient::Get(const Resource& resource, const ObjectKey& key) {
  return CallForObject("GET", resource, key, kube::GetRequest(resource, key));
}

Result<Json> ApiClient::GetWithManagedFields(const Resource& resource, const ObjectKey& key) {
  return CallForObject("GET", resource, key, kube::GetRequest(resource, key), kube::ManagedFields::kKeep);
}

Result<ObjectList> ApiClient::List(const Resource& resource, const kube::ListOptions& options) {
  ObjectList list;
  const auto take = [&list](std::vector<Json> page) {
    std::move(page.begin(), page.end(), std::back_inserter(list.items));
    return true;
  };
  ASSIGN_OR_RETURN(list.resource_version, ListPages(resource, options, take, [&list] { list.items.clear(); }));
  return list;
}

Result<std::string> ApiClient::ListPages(const Resource& resource, const kube::ListOptions& options,
                                         const std::function<bool(std::vector<Json>)>& page,
                                         const std::function<void()>& restart, const std::stop_token& stop) {
  const std::string doing = DescribeCall("LIST", resource, options.name_space);
  const EitherStop either(stop_.get_token(), stop);
  kube::ListOptions next = options;
  bool has_restarted = false;
  // The transport returns kResourceExhausted for a response above its size limit, and the parser for a response with
  // too many values. (HTTP 429 arrives as a response, not as this error.) The page is requested again with a smaller
  // limit; the continue token stays valid.
  const auto reduce_limit = [&next](const Status& status) {
    return status.code() == StatusCode::kResourceExhausted && (next.limit = SmallerLimit(next.limit)) > 0;
  };
  for (;;) {
    Result<HttpResponse> response = Call(kube::ListRequest(resource, next), either.token());
    if (!response.ok()) {
      if (reduce_limit(response.status())) continue;
      return std::move(response).status().While(doing);
    }
    if (!IsSuccess(response->code)) {
      Status error = ToError(*response);
      const bool has_expired = error.code() == StatusCode::kOutOfRange && !next.continue_token.empty();
      if (!has_expired || std::exchange(has_restarted, true)) return std::move(error).While(doing);
      // The state that the token refers to has been compacted. The list restarts without paging, because a new token
      // could expire too.
      next = options;
      next.limit = 0;
      restart();
      continue;
    }
    Result<Page> parsed = ParsePage(resource, *response);
    if (!parsed.ok()) {
      if (reduce_limit(parsed.status())) continue;
      return std::move(parsed).status().While(doing);
    }
    response->body = std::string();  // free the body while the page is processed
    if (!page(std::move(parsed->items))) return Cancelled(doing + ": stopped by the page callback");
    if (parsed->continue_token.empty()) return parsed->resource_version;
    if (parsed->continue_token == next.continue_token) return Internal(doing + ": repeated continue token");
    next.continue_token = std::move(parsed->continue_token);
  }
}

Result<std::unique_ptr<LineStream>> ApiClient::Watch(const Resource& resource, const kube::WatchOptions& options,
                                                     const std::stop_token& stop) {
  const std::string doing = DescribeCall("WATCH", resource, options.name_space);
  const kube::HttpRequest request = kube::WatchRequest(resource, options);
  const Deadline deadline = CallDeadline();
  const EitherStop either(stop_.get_token(), stop);
  std::unique_ptr<LineStream> lines;
  const Attempt open = [&]() -> Result<HttpResponse> {
    ASSIGN_OR_RETURN(HttpTransport::Stream stream, transport_.Open(request, deadline, either.token()));
    lines = std::move(stream.lines);
    return std::move(stream.head);
  };
  Result<HttpResponse> head = SendWithRetries(request, deadline, either.token(), open);
  if (!head.ok()) return std::move(head).status().While(doing);
  if (head->code != 200) return ToError(*head).While(doing);
  if (lines == nullptr) return Internal(doing + ": response without a stream");
  return lines;
}

Result<Json> ApiClient::Create(const Resource& resource, const Json& object) {
  return CallForObject("CREATE", resource, kube::ReadObjectKey(object),
                       kube::CreateRequest(resource, object, options_.field_manager));
}

Result<Json> ApiClient::Review(const Resource& resource, const Json& object) {
  const std::string doing = "CREATE " + std::string(resource.plural);
  const Result<HttpResponse> response =
      Call(kube::CreateRequest(resource, object, options_.field_manager), stop_.get_token());
  if (!response.ok()) return response.status().While(doing);
  if (!IsSuccess(response->code)) return ToError(*response).While(doing);
  return ParseObject(*response, kube::ManagedFields::kDrop).While(doing);
}

Result<Json> ApiClient::Replace(const Resource& resource, const Json& object) {
  return CallForObject("REPLACE", resource, kube::ReadObjectKey(object),
                       kube::ReplaceRequest(resource, object, options_.field_manager));
}

Result<Json> ApiClient::Apply(const Resource& resource, const Json& object, const kube::ApplyOptions& options) {
  return ApplyTo(resource, object, options, "");
}

Result<Json> ApiClient::ApplyStatus(const Resource& resource, const Json& object, const kube::ApplyOptions& options) {
  return ApplyTo(resource, object, options, "status");
}

Result<Json> ApiClient::ApplyTo(const Resource& resource, const Json& object, kube::ApplyOptions options,
                                const std::string& subresource) {
  if (options.field_manager.empty()) options.field_manager = options_.field_manager;
  return CallForObject(subresource.empty() ? "APPLY" : "APPLY status of", resource, kube::ReadObjectKey(object),
                       kube::ApplyRequest(resource, object, options, subresource));
}

Result<Json> ApiClient::MergePatch(const Resource& resource, const ObjectKey& key, const Json& patch) {
  return CallForObject("PATCH", resource, key, kube::MergePatchRequest(resource, key, patch, options_.field_manager));
}

Result<Json> ApiClient::MergePatchStatus(const Resource& resource, const ObjectKey& key, const Json& patch) {
  return CallForObject("PATCH", resource, key,
                       kube::MergePatchRequest(resource, key, patch, options_.field_manager, "status"));
}

Status ApiClient::Delete(const Resource& resource, const ObjectKey& key, const kube::DeleteOptions& options) {
  const std::string doing = DescribeCall("DELETE", resource, key);
  RETURN_IF_ERROR(kube::CheckKey(resource, key).While(doing));
  const Result<HttpResponse> response = Call(kube::DeleteRequest(resource, key, options), stop_.get_token());
  if (!response.ok()) return response.status().While(doing);
  if (IsSuccess(response->code)) return {};
  const kube::ApiError error = kube::ParseApiError(response->code, response->body);
  // Only the API server's own NotFound counts: a 404 page of a proxy does not mean that the object is gone.
  if (error.code == 404 && error.reason == "NotFound") return {};
  return kube::ToStatus(error).While(doing);
}

Result<Json> ApiClient::CallForObject(const char* verb, const Resource& resource, const ObjectKey& key,
                                      const kube::HttpRequest& request, kube::ManagedFields managed_fields) {
  const std::string doing = DescribeCall(verb, resource, key);
  RETURN_IF_ERROR(kube::CheckKey(resource, key).While(doing));
  const Result<HttpResponse> response = Call(request, stop_.get_token());
  if (!response.ok()) return response.status().While(doing);
  if (!IsSuccess(response->code)) return ToError(*response).While(doing);
  return ParseObject(*response, managed_fields).While(doing);
}

Result<HttpResponse> ApiClient::Call(const kube::HttpRequest& request, const std::stop_token& stop) {
  const Deadline deadline = CallDeadline();
  return SendWithRetries(request, deadline, stop, [&] { return transport_.Send(request, deadline, stop); });
}

Result<HttpResponse> ApiClient::SendWithRetries(const kube::HttpRequest& request, Deadline deadline,
                                                const std::stop_token& stop, const Attempt& attempt) {
  bool has_broken = false;
  for (int num_repeats = 0;;) {
    RETURN_IF_ERROR(WaitForRateLimit(deadline, stop));
    Result<HttpResponse> response = RunAndCount(request.method, attempt);
    if (!response.ok()) {
      const StatusCode code = response.status().code();
      // FailedPrecondition: the request was not executed; Unavailable: it may have been executed.
      const bool may_repeat =
          code == StatusCode::kFailedPrecondition || (code == StatusCode::kUnavailable && request.repeatable);
      if (!may_repeat || std::exchange(has_broken, true)) return ToCallersStatus(std::move(response).status());
      continue;
    }
    const std::optional<seconds> pause = ParseRetryAfter(*response);
    // If the pause would exceed the deadline, the server's response is returned: it says more than DeadlineExceeded.
    if (!pause.has_value() || num_repeats == kMaxRepeats || *pause >= deadline.Remaining(clock_)) return response;
    ++num_repeats;
    RETURN_IF_ERROR(Pause(*pause, stop));
  }
}

Result<HttpResponse> ApiClient::RunAndCount(const std::string& method, const Attempt& attempt) {
  const SteadyTime start = clock_.Now();
  Result<HttpResponse> response = attempt();
  metrics_.Count(method, response.ok() ? response->code : 0, clock_.Now() - start);
  return response;
}

Status ApiClient::MakeStopError() const {
  return Cancelled(stop_.stop_requested() ? "the client has stopped" : "asked to stop");
}

Status ApiClient::WaitForRateLimit(Deadline deadline, const std::stop_token& stop) {
  if (stop.stop_requested()) return MakeStopError();
  const std::optional<nanoseconds> wait = bucket_.TakeWithin(deadline.Remaining(clock_));
  if (!wait.has_value() || deadline.HasPassed(clock_)) {
    return DeadlineExceeded("the rate limit allows no request before the deadline");
  }
  return Pause(*wait, stop);
}

Status ApiClient::Pause(nanoseconds duration, const std::stop_token& stop) {
  while (duration > nanoseconds(0)) {
    if (stop.stop_requested()) return MakeStopError();
    const nanoseconds part = std::min(duration, kStopInterval);
    clock_.SleepFor(part);
    duration -= part;
  }
  return {};
}

}  // namespace espalier::ctl::client
