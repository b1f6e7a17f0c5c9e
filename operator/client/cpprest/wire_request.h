// Converts a request of kube/request.h to an http_request of cpprest, and adds the headers of the connection.
#pragma once

#include <cpprest/http_msg.h>

#include "operator/client/connection.h"
#include "operator/client/cpprest/endpoint.h"
#include "operator/kube/request.h"

namespace espalier::ctl::client {

struct WireSettings {
  std::string base_path;  // prefix of every target
  std::string user_agent;
  std::string impersonate_user;  // empty: no impersonation
  std::string impersonate_uid;
  std::vector<std::string> impersonate_groups;
  bool tls = true;
};

// Returns the request for cpprest. Methods, targets and headers with line breaks or other control characters are
// rejected with InvalidArgument, because cpprest writes them without checks. A bearer token that would be sent to
// another machine without TLS is rejected too. Error messages do not contain secrets.
Result<web::http::http_request> MakeWireRequest(const kube::HttpRequest& request, const Credentials& credentials,
                                                const WireSettings& settings, const Endpoint& endpoint);

}  // namespace espalier::ctl::client
