// A request is parsed in three steps: path (kind, namespace, name, subresource), verb (from the method, the query and
// the content type), and body. Errors have the codes, reasons and messages of the real server.
#include "operator/client/testing/fake_api_server_request.h"

#include <vector>

#include "services/base/percent_encoding.h"

namespace espalier::ctl::client::fake {
namespace {

using kube::Json;

std::string ToString(const kube::Resource& resource) {
  std::string name(resource.plural);
  if (!resource.group.empty()) name += "." + std::string(resource.group);
  return name;
}

Json ParseDetails(const kube::Resource& resource, const std::string& name) {
  Json details = {{"name", name}, {"kind", resource.plural}};
  if (!resource.group.empty()) details["group"] = resource.group;
  return details;
}

// Text with an invalid '%' stays as it is.
std::string PercentDecoded(std::string_view text) {
  Result<std::string> decoded = PercentDecode(text, PlusDecoding::kSpace);
  return decoded.ok() ? *std::move(decoded) : std::string(text);
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(PercentDecoded(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::map<std::string, std::string> QueryOf(std::string_view text) {
  std::map<std::string, std::string> query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    const size_t equals = std::min(pair.find('='), pair.size());
    query[PercentDecoded(pair.substr(0, equals))] = PercentDecoded(pair.substr(std::min(equals + 1, pair.size())));
    text.remove_prefix(std::min(pair.size() + 1, text.size()));
  }
  return query;
}

std::string HeaderOf(const kube::HttpRequest& http, std::string_view name) {
  HttpResponse headers;  // its Header ignores case
  headers.headers = http.headers;
  std::string value = headers.Header(name);
  return value.substr(0, value.find(';'));
}

// Parses /api/v1/... or /apis/<group>/<version>/..., then [namespaces/<ns>/]<plural>[/<name>[/<subresource>]].
bool ParsePath(std::string_view path, ApiRequest* request) {
  std::vector<std::string> parts = Split(path.substr(1), '/');
  std::string group, version;
  size_t at = 0;
  if (parts.size() >= 3 && parts[0] == "api") {
    version = parts[1];
    at = 2;
  } else if (parts.size() >= 4 && parts[0] == "apis") {
    group = parts[1];
    version = parts[2];
    at = 3;
  } else {
    return false;
  }
  if (parts.size() >= at + 3 && parts[at] == "namespaces" && parts[at + 2] != "status") {
    request->key.name_space = parts[at + 1];
    at += 2;
  }
  request->kind = FindKind(group, version, parts[at]);
  if (request->kind == nullptr) return false;
  if (parts.size() > at + 1) request->key.name = parts[at + 1];
  const bool is_namespaced = !request->key.name_space.empty();
  if (is_namespaced && !request->resource().namespaced) return false;
  if (!is_namespaced && request->resource().namespaced && !request->key.name.empty()) return false;
  if (parts.size() == at + 3) {
    request->of_status = parts[at + 2] == "status" && request->kind->has_status;
    return request->of_status;
  }
  return parts.size() < at + 3;
}

std::optional<Refusal> ParseVerb(const kube::HttpRequest& http, ApiRequest* request) {
  const bool has_name = !request->key.name.empty();
  if (http.method == "GET" && has_name) {
    request->verb = Verb::kGet;
  } else if (http.method == "GET") {
    request->verb = request->Query("watch") == "true" || request->Query("watch") == "1" ? Verb::kWatch : Verb::kList;
  } else if (http.method == "POST" && !has_name &&
             !(request->resource().namespaced && request->key.name_space.empty())) {
    request->verb = Verb::kCreate;
  } else if (http.method == "PUT" && has_name) {
    request->verb = Verb::kReplace;
  } else if (http.method == "DELETE" && has_name) {
    request->verb = Verb::kDelete;
  } else if (http.method == "PATCH" && has_name) {
    const std::string type = HeaderOf(http, "Content-Type");
    if (type == "application/apply-patch+yaml") {
      request->verb = Verb::kApply;
    } else if (type == "application/merge-patch+json") {
      request->verb = Verb::kMergePatch;
    } else {
      return Refusal{415, "UnsupportedMediaType",
                     "the body of the request was in an unknown format - accepted media types include: "
                     "application/merge-patch+json, application/apply-patch+yaml"};
    }
  } else {
    return Refusal{405, "MethodNotAllowed", "the server does not allow this method on the requested resource"};
  }
  return std::nullopt;
}

}  // namespace

Json StatusObject(const Refusal& refusal) {
  Json metadata = Json::object();
  if (!refusal.continue_token.empty()) metadata["continue"] = refusal.continue_token;
  return {{"apiVersion", "v1"},         {"kind", "Status"},          {"metadata", metadata},
          {"status", "Failure"},        {"code", refusal.code},      {"reason", refusal.reason},
          {"message", refusal.message}, {"details", refusal.details}};
}

HttpResponse AnswerOf(const Refusal& refusal) {
  return {refusal.code, {{"Content-Type", "application/json"}}, kube::Print(StatusObject(refusal))};
}

Refusal NotFoundRefusal(const kube::Resource& resource, const std::string& name) {
  return {404, "NotFound", ToString(resource) + " \"" + name + "\" not found", ParseDetails(resource, name)};
}

Refusal ConflictRefusal(const kube::Resource& resource, const std::string& name, const std::string& why) {
  return {409, "Conflict", "Operation cannot be fulfilled on " + ToString(resource) + " \"" + name + "\": " + why,
          ParseDetails(resource, name)};
}

Refusal BadRequest(std::string message) { return {400, "BadRequest", std::move(message)}; }

Refusal Invalid(const kube::Resource& resource, const std::string& name, const std::string& field,
                const std::string& why) {
  Refusal refusal{422, "Invalid",
                  std::string(resource.kind) + (resource.group.empty() ? "" : "." + std::string(resource.group)) +
                      " \"" + name + "\" is invalid: " + field + ": " + why,
                  ParseDetails(resource, name)};
  refusal.details["causes"] = Json::array({{{"reason", "FieldValueInvalid"}, {"field", field}, {"message", why}}});
  return refusal;
}

std::string ApiRequest::Query(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? "" : found->second;
}

std::string ApiRequest::field_manager() const {
  const std::string named = Query("fieldManager");
  return named.empty() ? "unknown" : named;
}

std::optional<Refusal> ParseRequest(const kube::HttpRequest& http, ApiRequest* request) {
  const std::string_view target = http.target;
  const size_t mark = std::min(target.find('?'), target.size());
  request->query = QueryOf(target.substr(std::min(mark + 1, target.size())));
  if (!target.starts_with('/') || !ParsePath(target.substr(0, mark), request)) {
    return Refusal{404, "NotFound", "the server could not find the requested resource"};
  }
  if (std::optional<Refusal> refusal = ParseVerb(http, request)) return refusal;
  if (http.body.empty()) return std::nullopt;
  Result<Json> body = kube::ParseJson(http.body);
  if (!body.ok()) return BadRequest("the request's body is no JSON: " + body.status().message());
  if (!body->is_object()) return BadRequest("the request's body is no object");
  request->body = *std::move(body);
  return std::nullopt;
}

}  // namespace espalier::ctl::client::fake
