// A request of kube/request.h with everything that the connection adds: the library's http_request.
#pragma once

#include <cpprest/http_msg.h>

#include "operator/client/connection.h"
#include "operator/client/cpprest/endpoint.h"
#include "operator/kube/request.h"

namespace espalier::ctl::client {

struct WireSettings {
  std::string base_path;  // before every target
  std::string user_agent;
  std::string impersonate_user;  // empty: nobody
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;
  bool tls = true;
};

// The library writes methods, targets and headers as they are, line breaks included: InvalidArgument for anything that
// would not stay on its line, and for a token that would travel in the clear to another machine. Repeats no secret.
Result<web::http::http_request> MakeWireRequest(const kube::HttpRequest& request, const Credentials& credentials,
                                                const WireSettings& settings, const Endpoint& endpoint);

}  // namespace espalier::ctl::client
