// Builds requests to an API server. No I/O, no credentials, no clock.
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
  std::string target;                                        // percent-encoded: "/api/v1/pods?limit=500"
  std::vector<std::pair<std::string, std::string>> headers;  // Accept, Content-Type
  std::string body;
  // True if the request may be sent twice: the second has no effect, or fails with AlreadyExists, Conflict or NotFound.
  bool repeatable = true;
};

struct ListOptions {
  std::string name_space;      // "": all
  std::string label_selector;  // "app.kubernetes.io/managed-by=espalier-operator"
  std::string field_selector;
  // "": the newest state; "0": the state in the server's cache, as one response, because the server then ignores the
  // limit; other values: a state that is not older than this version.
  std::string resource_version;
  int limit = 500;             // objects per page; 0: no paging
  std::string continue_token;  // from the previous page; resource_version is not sent with it
};

struct WatchOptions {
  std::string name_space;
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;      // the watch returns changes after this version
  std::chrono::seconds timeout{60};  // the server ends the watch after this time
};

enum class Propagation { kBackground, kForeground, kOrphan };
struct DeleteOptions {
  std::string uid;               // precondition; required, so that only the expected object is deleted
  std::string resource_version;  // precondition; "": none
  Propagation propagation = Propagation::kBackground;
  std::optional<int64_t> grace_period_seconds;
};

struct ApplyOptions {
  std::string field_manager;
  bool force = true;
  bool dry_run = false;  // also sets fieldValidation=Strict
};

// The functions below build requests; they send nothing.

HttpRequest GetRequest(const Resource& resource, const ObjectKey& key);
HttpRequest ListRequest(const Resource& resource, const ListOptions& options);
HttpRequest WatchRequest(const Resource& resource, const WatchOptions& options);  // with bookmarks
// POST of a whole object. Repeatable only if the object has a name: an object with generateName would be created twice.
HttpRequest CreateRequest(const Resource& resource, const Json& object, const std::string& field_manager);
// PUT with the object's resourceVersion.
HttpRequest ReplaceRequest(const Resource& resource, const Json& object, const std::string& field_manager);
// Server-side apply of `object`, which must have apiVersion, kind and metadata.name. `subresource` is "" or "status".
HttpRequest ApplyRequest(const Resource& resource, const Json& object, const ApplyOptions& options,
                         const std::string& subresource = "");
// PATCH with a JSON merge patch (RFC 7396). `subresource` is "" or "status".
HttpRequest MergePatchRequest(const Resource& resource, const ObjectKey& key, const Json& patch,
                              const std::string& field_manager, const std::string& subresource = "");
HttpRequest DeleteRequest(const Resource& resource, const ObjectKey& key, const DeleteOptions& options);

}  // namespace espalier::ctl::kube
