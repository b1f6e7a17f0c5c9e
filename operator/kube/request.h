// Requests to an API server, built and nothing else: no I/O, no credentials, no clock.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operator/kube/json.h"
#include "operator/kube/resource.h"

namespace espalier::ctl::kube {

struct HttpRequest {
  std::string method;                                        // "GET"
  std::string target;                                        // "/api/v1/pods?limit=500": percent-encoded
  std::vector<std::pair<std::string, std::string>> headers;  // Accept, Content-Type
  std::string body;
  // Sending it twice does no harm beyond an AlreadyExists, Conflict or NotFound that the caller expects.
  bool repeatable = true;
};

struct ListOptions {
  std::string name_space;      // "": all
  std::string label_selector;  // "app.kubernetes.io/managed-by=espalier-operator"
  std::string field_selector;
  // "": the newest; "0": what the server has in its cache, all of it at once, whatever the limit; else: not older than
  // this.
  std::string resource_version;
  int limit = 500;             // 0: no pages
  std::string continue_token;  // of the page before; resource_version is not sent with it
};

struct WatchOptions {
  std::string name_space;
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;
  std::chrono::seconds timeout{60};  // when the server ends the watch
};

enum class Propagation { kBackground, kForeground, kOrphan };
struct DeleteOptions {
  std::string uid;               // precondition; required: nothing is deleted by name alone
  std::string resource_version;  // precondition; "": none
  Propagation propagation = Propagation::kBackground;
  std::optional<int64_t> grace_period_seconds;
};

struct ApplyOptions {
  std::string field_manager;
  bool force = true;
  bool dry_run = false;  // with fieldValidation=Strict
};

HttpRequest GetRequest(const Resource& resource, const ObjectKey& key);
HttpRequest ListRequest(const Resource& resource, const ListOptions& options);
HttpRequest WatchRequest(const Resource& resource, const WatchOptions& options);  // with bookmarks
// POST of a whole object, which names itself. Not repeatable in the sense above only for generateName, which is a bug.
HttpRequest CreateRequest(const Resource& resource, const Json& object, const std::string& field_manager);
// PUT with the object's resourceVersion.
HttpRequest ReplaceRequest(const Resource& resource, const Json& object, const std::string& field_manager);
// Server-side apply of `object`, which has apiVersion, kind and metadata.name; `subresource` is "" or "status".
HttpRequest ApplyRequest(const Resource& resource, const Json& object, const ApplyOptions& options,
                         const std::string& subresource = "");
// application/merge-patch+json.
HttpRequest MergePatchRequest(const Resource& resource, const ObjectKey& key, const Json& patch,
                              const std::string& field_manager, const std::string& subresource = "");
HttpRequest DeleteRequest(const Resource& resource, const ObjectKey& key, const DeleteOptions& options);

// RFC 3986: everything but unreserved characters.
std::string PercentEncode(std::string_view text);

}  // namespace espalier::ctl::kube
