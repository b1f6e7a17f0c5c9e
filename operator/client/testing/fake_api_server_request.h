// What an HTTP request asks of an API server.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "operator/client/testing/fake_api_server_kinds.h"
#include "operator/client/transport.h"
#include "operator/kube/json.h"

namespace espalier::ctl::client::fake {

// An answer that says no: metav1.Status, as the real one words it.
struct Refusal {
  int code = 0;
  std::string reason;  // "NotFound"
  std::string message;
  kube::Json details = kube::Json::object();
  std::string continue_token;  // of a 410 to a page
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
  kube::ObjectKey key;  // without a name: of all in the namespace; without both: of all
  bool of_status = false;
  std::map<std::string, std::string> query;  // decoded
  kube::Json body;

  const kube::Resource& resource() const { return *kind->resource; }
  std::string Query(const std::string& name) const;
  bool dry_run() const { return Query("dryRun") == "All"; }
  std::string field_manager() const;
};

// Fills `request`, or says why not.
std::optional<Refusal> ParseRequest(const kube::HttpRequest& http, ApiRequest* request);

}  // namespace espalier::ctl::client::fake
