// Parses HTTP requests to an API server, and builds its error responses.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "operator/client/testing/fake_api_server_kinds.h"
#include "operator/client/transport.h"
#include "operator/kube/json.h"

namespace espalier::ctl::client::fake {

// An error response (metav1.Status), worded as that of the real server.
struct Refusal {
  int code = 0;
  std::string reason;  // "NotFound"
  std::string message;
  kube::Json details = kube::Json::object();
  std::string continue_token;  // set in a 410 for a page of a list
};
kube::Json StatusObject(const Refusal& refusal);
HttpResponse AnswerOf(const Refusal& refusal);

Refusal NotFoundRefusal(const kube::Resource& resource, const std::string& name);
Refusal ConflictRefusal(const kube::Resource& resource, const std::string& name, const std::string& why);
Refusal BadRequest(std::string message);
Refusal Invalid(const kube::Resource& resource, const std::string& name, const std::string& field,
                const std::string& why);

enum class Verb { kGet, kList, kWatch, kCreate, kReplace, kMergePatch, kApply, kDelete };

struct ApiRequest {
  Verb verb = Verb::kGet;
  const KindTraits* kind = nullptr;
  kube::ObjectKey key;  // empty name: all objects of the namespace; both empty: all objects
  bool of_status = false;
  std::map<std::string, std::string> query;  // decoded
  kube::Json body;

  const kube::Resource& resource() const { return *kind->resource; }
  std::string Query(const std::string& name) const;
  bool dry_run() const { return Query("dryRun") == "All"; }
  std::string field_manager() const;
};

// Parses an HTTP request into `request`. Returns an error response if it is invalid.
std::optional<Refusal> ParseRequest(const kube::HttpRequest& http, ApiRequest* request);

}  // namespace espalier::ctl::client::fake
