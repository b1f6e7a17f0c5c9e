// AWS Signature Version 4, as pure functions
// (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).
//
// A signature covers the method, path, query, headers and SHA-256 of the payload. Client and server must hash the same
// canonical form. Requests are kept decoded and are encoded only by these functions, both for the signature and for the
// wire, so that the signed request is the one that is sent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/http/transport.h"
#include "services/storage/s3/time_text.h"
#include "services/telemetry/log.h"

namespace espalier::storage {

using QueryParameters = std::vector<std::pair<std::string, std::string>>;  // decoded; values may be empty

struct Credentials {
  std::string access_key_id;
  telemetry::Secret secret_access_key;
  telemetry::Secret session_token;  // empty: long-lived credentials
  std::optional<WallTime> expires;  // nullopt: unknown or never
};

struct SignableRequest {
  std::string method;
  std::string path;            // decoded, starts with '/'; not normalized, because keys may contain "//"
  QueryParameters query;       // in any order
  http::Headers headers;       // the headers to sign: at least "host" and "x-amz-date"
  std::string payload_sha256;  // hexadecimal
};

struct SigningScope {
  WallTime time;
  std::string region;
  std::string service;  // "s3"
};

// Returns the path in the form that is sent: "/a%20b/c".
std::string CanonicalPath(std::string_view path);
// Returns the query in the form that is sent, sorted by encoded name and value: "a=&b=1%2F2".
std::string CanonicalQuery(const QueryParameters& query);

// The steps of a signature, with the names that the AWS documentation has for them.
std::string CanonicalRequest(const SignableRequest& request);
std::string StringToSign(const std::string& canonical_request, const SigningScope& scope);
std::string Signature(const std::string& string_to_sign, const SigningScope& scope, const telemetry::Secret& secret);
// Returns the value of the Authorization header.
std::string Authorization(const SignableRequest& request, const SigningScope& scope, const Credentials& credentials);

}  // namespace espalier::storage
