// Paths follow the API conventions: /api/VERSION for the core group, /apis/GROUP/VERSION for other groups, then
// namespace, resource and name. Names and namespaces are percent-encoded. Empty query parameters are left out. Bodies
// are JSON, even for server-side apply, whose media type is YAML (see PrintForYaml).
#include "operator/kube/request.h"

#include "operator/kube/object_meta.h"
#include "services/base/percent_encoding.h"

namespace espalier::ctl::kube {
namespace {

class Query {
 public:
  // Adds a parameter, unless the value is empty.
  void Add(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    text_ += (text_.empty() ? "?" : "&") + std::string(name) + "=" + PercentEncode(value, SlashEncoding::kEncode);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string CollectionPath(const Resource& resource, const std::string& name_space) {
  std::string path = resource.group.empty() ? "/api/" : "/apis/" + std::string(resource.group) + "/";
  path += resource.version;
  if (resource.namespaced && !name_space.empty())
    path += "/namespaces/" + PercentEncode(name_space, SlashEncoding::kEncode);
  return path + "/" + std::string(resource.plural);
}

std::string ObjectPath(const Resource& resource, const ObjectKey& key, const std::string& subresource = "") {
  std::string path = CollectionPath(resource, key.name_space) + "/" + PercentEncode(key.name, SlashEncoding::kEncode);
  return subresource.empty() ? path : path + "/" + subresource;
}

HttpRequest MakeRequest(const char* method, std::string target) {
  return {.method = method, .target = std::move(target), .headers = {{"Accept", "application/json"}}};
}

HttpRequest MakeRequestWithBody(const char* method, std::string target, const char* content_type, std::string body) {
  return {.method = method,
          .target = std::move(target),
          .headers = {{"Accept", "application/json"}, {"Content-Type", content_type}},
          .body = std::move(body)};
}

// Returns the object as JSON that YAML 1.1 readers accept too, as server-side apply requires. Escapes the characters
// that JSON allows in strings but YAML treats as line breaks or as unprintable. All of these are in the basic
// multilingual plane, so no surrogate pairs are needed, which YAML readers would not decode.
std::string PrintForYaml(const Json& object) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string escaped;
  const auto escape = [&escaped](unsigned code) {
    escaped += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) escaped += kHex[(code >> shift) & 0xF];
  };
  const std::string text = Print(object);
  const auto byte = [&text](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    if (byte(i) == 0x7F) {
      escape(0x7F);
    } else if (byte(i) == 0xC2 && byte(i + 1) < 0xA0) {  // C1 controls, with NEL among them
      escape(byte(++i));
    } else if (three == 0xE280A8 || three == 0xE280A9) {  // line and paragraph separator
      escape(0x2028 + (three & 1));
      i += 2;
    } else if (three == 0xEFBBBF || three == 0xEFBFBE || three == 0xEFBFBF) {  // byte order mark, two non-characters
      escape(three == 0xEFBBBF ? 0xFEFF : 0xFFFE + (three & 1));
      i += 2;
    } else {
      escaped += text[i];
    }
  }
  return escaped;
}

const char* ToString(Propagation propagation) {
  switch (propagation) {
    case Propagation::kBackground: return "Background";
    case Propagation::kForeground: return "Foreground";
    case Propagation::kOrphan: return "Orphan";
  }
  return "Background";
}

}  // namespace

HttpRequest GetRequest(const Resource& resource, const ObjectKey& key) {
  return MakeRequest("GET", ObjectPath(resource, key));
}

HttpRequest ListRequest(const Resource& resource, const ListOptions& options) {
  Query query;
  query.Add("labelSelector", options.label_selector);
  query.Add("fieldSelector", options.field_selector);
  if (options.limit > 0) query.Add("limit", std::to_string(options.limit));
  if (!options.continue_token.empty()) {
    query.Add("continue", options.continue_token);
  } else {
    query.Add("resourceVersion", options.resource_version);
    // If a limit is set, resourceVersion without resourceVersionMatch means exactly this version, which may have been
    // compacted.
    if (!options.resource_version.empty() && options.resource_version != "0") {
      query.Add("resourceVersionMatch", "NotOlderThan");
    }
  }
  return MakeRequest("GET", CollectionPath(resource, options.name_space) + query.text());
}

HttpRequest WatchRequest(const Resource& resource, const WatchOptions& options) {
  Query query;
  query.Add("watch", "true");
  query.Add("allowWatchBookmarks", "true");
  query.Add("labelSelector", options.label_selector);
  query.Add("fieldSelector", options.field_selector);
  query.Add("resourceVersion", options.resource_version);
  query.Add("timeoutSeconds", std::to_string(options.timeout.count()));
  return MakeRequest("GET", CollectionPath(resource, options.name_space) + query.text());
}

HttpRequest CreateRequest(const Resource& resource, const Json& object, const std::string& field_manager) {
  const ObjectKey key = ReadObjectKey(object);
  Query query;
  query.Add("fieldManager", field_manager);
  HttpRequest request = MakeRequestWithBody("POST", CollectionPath(resource, key.name_space) + query.text(),
                                            "application/json", Print(object));
  request.repeatable = !key.name.empty();
  return request;
}

HttpRequest ReplaceRequest(const Resource& resource, const Json& object, const std::string& field_manager) {
  Query query;
  query.Add("fieldManager", field_manager);
  return MakeRequestWithBody("PUT", ObjectPath(resource, ReadObjectKey(object)) + query.text(), "application/json",
                             Print(object));
}

HttpRequest ApplyRequest(const Resource& resource, const Json& object, const ApplyOptions& options,
                         const std::string& subresource) {
  Query query;
  query.Add("fieldManager", options.field_manager);
  if (options.force) query.Add("force", "true");
  if (options.dry_run) {
    query.Add("dryRun", "All");
    query.Add("fieldValidation", "Strict");
  }
  return MakeRequestWithBody("PATCH", ObjectPath(resource, ReadObjectKey(object), subresource) + query.text(),
                             "application/apply-patch+yaml", PrintForYaml(object));
}

HttpRequest MergePatchRequest(const Resource& resource, const ObjectKey& key, const Json& patch,
                              const std::string& field_manager, const std::string& subresource) {
  Query query;
  query.Add("fieldManager", field_manager);
  return MakeRequestWithBody("PATCH", ObjectPath(resource, key, subresource) + query.text(),
                             "application/merge-patch+json", Print(patch));
}

HttpRequest DeleteRequest(const Resource& resource, const ObjectKey& key, const DeleteOptions& options) {
  // An empty uid is sent too: it matches no object, so nothing is deleted.
  Json preconditions = {{"uid", options.uid}};
  if (!options.resource_version.empty()) preconditions["resourceVersion"] = options.resource_version;
  // The propagation policy is always sent: by default the API server orphans the pods of a deleted Job.
  Json body = {{"apiVersion", "v1"},
               {"kind", "DeleteOptions"},
               {"preconditions", std::move(preconditions)},
               {"propagationPolicy", ToString(options.propagation)}};
  if (options.grace_period_seconds.has_value()) body["gracePeriodSeconds"] = *options.grace_period_seconds;
  return MakeRequestWithBody("DELETE", ObjectPath(resource, key), "application/json", Print(body));
}

}  // namespace espalier::ctl::kube
