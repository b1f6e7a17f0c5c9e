// AWS Signature Version 4, as pure functions
// (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).
//
// A signature covers method, path, query, headers and the payload's SHA-256. Client and server must spell these in one
// canonical way before hashing. Requests here are kept decoded and are encoded once, by these functions, both for the
// signature and for the wire, so that what is signed is what is sent.
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

using QueryParameters = std::vector<std::pair<std::string, std::string>>;  // decoded; "" is a value

struct Credentials {
  std::string access_key_id;
  telemetry::Secret secret_access_key;
  telemetry::Secret session_token;  // empty: long-lived credentials
  std::optional<WallTime> expires;  // nullopt: not known to
};

struct SignableRequest {
  std::string method;
  std::string path;       // decoded, from '/' on; not normalised: S3's keys may hold "//"
  QueryParameters query;  // in any order
  http::Headers headers;  // all that are to be signed: at least "host" and "x-amz-date"
  std::string payload_sha256;
};

struct SigningScope {
  WallTime time;
  std::string region;
  std::string service;  // "s3"
};

// "/a%20b/c": the path as it is sent.
std::string CanonicalPath(std::string_view path);
// "a=&b=1%2F2": sorted by encoded name, then value; the query as it is sent.
std::string CanonicalQuery(const QueryParameters& query);

// The steps, each as AWS's documents show it.
std::string CanonicalRequest(const SignableRequest& request);
std::string StringToSign(const std::string& canonical_request, const SigningScope& scope);
std::string Signature(const std::string& string_to_sign, const SigningScope& scope, const telemetry::Secret& secret);
// The value of the Authorization header.
std::string Authorization(const SignableRequest& request, const SigningScope& scope, const Credentials& credentials);

}  // namespace espalier::storage
