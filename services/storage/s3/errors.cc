#include "services/storage/s3/errors.h"

#include <pugixml.hpp>

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace espalier::storage {
namespace {

constexpr size_t kMaxQuotedBytes = 300;

// What a service says, fit for a log: one line, short, printable.
std::string Quoted(std::string_view text) {
  std::string quoted(text.substr(0, kMaxQuotedBytes));
  for (char& c : quoted) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return quoted;
}

bool IsOneOf(const std::string& code, std::initializer_list<const char*> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

StatusCode CodeOf(const S3Error& error) {
  const std::string& code = error.code;
  if (IsOneOf(code, {"QuotaExceeded", "NoSpaceLeftOnDevice", "XMinioStorageFull", "InsufficientStorage"})) {
    return StatusCode::kResourceExhausted;
  }
  // Services choose various statuses for these, 404 among them.
  const Remedy remedy = RemedyFor(error);
  if (!code.empty() && (remedy == Remedy::kRenew || remedy == Remedy::kSetClock)) return StatusCode::kPermissionDenied;
  if (remedy == Remedy::kRetry) {
    return error.http_status == 409 ? StatusCode::kAborted : StatusCode::kUnavailable;
  }
  switch (error.http_status) {
    case 400: return StatusCode::kInvalidArgument;
    case 401:
    case 403: return StatusCode::kPermissionDenied;
    case 404: return IsAboutTheObject(error) ? StatusCode::kNotFound : StatusCode::kFailedPrecondition;
    case 412: return StatusCode::kFailedPrecondition;
    case 416: return StatusCode::kOutOfRange;
    case 501: return StatusCode::kUnimplemented;
    case 507: return StatusCode::kResourceExhausted;
    default: return StatusCode::kFailedPrecondition;
  }
}

// What whoever runs this can do about it; "" where the service's own words say all.
std::string HintFor(const S3Error& error) {
  if (!error.region.empty()) return "; the bucket is in region " + error.region + ": set AWS_REGION";
  if (error.http_status >= 300 && error.http_status < 400) return "; check the endpoint and the region";
  if (error.code == "NoSuchBucket") return "; create the bucket first";
  if (error.code == "SignatureDoesNotMatch") return "; check the secret access key and the region";
  if (error.code.empty() && error.http_status == 403) {
    return "; check the credentials and their permissions (docs/object-storage.md lists them)";
  }
  if (error.code == "AccessDenied") return "; docs/object-storage.md lists the permissions needed";
  return "";
}

}  // namespace

bool IsAboutTheObject(const S3Error& error) {
  return error.http_status != 404 ||
         IsOneOf(error.code, {"", "NoSuchKey", "NoSuchUpload", "NoSuchVersion", "NotFound", "KeyNotFound"});
}

S3Error ErrorOf(const HttpResponse& response) {
  S3Error error{.http_status = response.status};
  if (const std::string* region = response.Header("x-amz-bucket-region"); region != nullptr && response.status != 200) {
    // Says something only where the request went astray.
    if (response.status == 301 || response.status == 307 || response.status == 400) error.region = Quoted(*region);
  }
  if (const std::string* id = response.Header("x-amz-request-id"); id != nullptr) error.request_id = Quoted(*id);
  pugi::xml_document document;
  if (!document.load_buffer(response.body.data(), response.body.size())) return error;
  const pugi::xml_node root = document.document_element();
  // STS wraps its errors once more.
  const pugi::xml_node node = std::string_view(root.name()) == "ErrorResponse" ? root.child("Error") : root;
  if (std::string_view(node.name()) != "Error") return error;
  error.code = Quoted(node.child_value("Code"));
  error.message = Quoted(node.child_value("Message"));
  if (error.code == "AuthorizationHeaderMalformed") error.region = Quoted(node.child_value("Region"));
  return error;
}

Remedy RemedyFor(const S3Error& error) {
  const std::string& code = error.code;
  if (code == "RequestTimeTooSkewed") return Remedy::kSetClock;
  if (IsOneOf(code, {"ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired", "RequestExpired",
                     "InvalidAccessKeyId", "InvalidClientTokenId", "XAdminUserNotFound"})) {
    return Remedy::kRenew;
  }
  // Answers to HEAD have no body that could tell an expired token from a refusal.
  if (code.empty() && (error.http_status == 400 || error.http_status == 401 || error.http_status == 403)) {
    return Remedy::kRenew;
  }
  if (IsOneOf(code, {"SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable", "InternalError", "Throttling",
                     "ThrottlingException", "RequestLimitExceeded", "TooManyRequests", "RequestTimeout",
                     "RequestTimeoutException", "OperationAborted", "ConditionalRequestConflict", "IncompleteBody",
                     // The body arrived otherwise than it was sent.
                     "BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch"})) {
    return Remedy::kRetry;
  }
  switch (error.http_status) {
    case 408:
    case 429: return Remedy::kRetry;
    case 200: return Remedy::kRetry;  // an error as the body of a success
    case 501:
    case 505:
    case 507: return Remedy::kNone;
    default: return error.http_status >= 500 ? Remedy::kRetry : Remedy::kNone;  // gateways have numbers of their own
  }
}

Status StatusOf(const S3Error& error, const std::string& doing) {
  std::string message = doing + ": the service answered " + std::to_string(error.http_status);
  if (!error.code.empty()) message += " " + error.code;
  if (!error.message.empty()) message += ": " + error.message;
  message += HintFor(error);
  if (!error.request_id.empty()) message += " (request " + error.request_id + ")";
  return Status(CodeOf(error), message);
}

}  // namespace espalier::storage
