// Services report the same cause with different statuses, so RemedyFor and ToCode examine the code of an S3 error
// before the HTTP status. An error response that contains no S3 error usually is a response to HEAD, which has no
// body, or comes from another service: a proxy, a web server or a TLS port (ReadPage).
#include "services/storage/s3/errors.h"

#include <pugixml.hpp>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "services/base/ascii.h"
#include "services/storage/s3/bucket.h"
#include "services/storage/s3/responses.h"

namespace espalier::storage {
namespace {

constexpr size_t kMaxLineBytes = 300;

// Returns a text from a service as one short line without control characters, for messages.
std::string ToShortLine(std::string_view text) {
  std::string line(text.substr(0, kMaxLineBytes));
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return line;
}

// Returns the title of an HTML page, or the first line of a text; "" for other bodies.
std::string FindReason(const std::string& body) {
  std::string_view text(body);
  const std::string lower = ToLowerAscii(body.substr(0, 4096));
  if (const size_t title = lower.find("<title>"); title != std::string::npos) {
    const size_t begin = title + std::string_view("<title>").size();
    text = text.substr(begin, std::min(lower.find('<', begin), lower.size()) - begin);
  } else if (text.starts_with('<') || text.starts_with('{')) {
    return "";
  }
  std::string reason = ToShortLine(text.substr(0, text.find_first_of("\r\n")));
  std::replace_if(
      reason.begin(), reason.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  return reason;
}

// Returns the second region of "the region 'us-east-1' is wrong; expecting 'eu-central-1'", a message of AWS and MinIO.
std::string FindRegion(const std::string& message) {
  static constexpr std::string_view kBefore = "expecting '";
  const size_t before = message.find(kBefore);
  if (before == std::string::npos) return "";
  const size_t begin = before + kBefore.size();
  return message.substr(begin, message.find('\'', begin) - begin);
}

bool IsOneOf(const std::string& code, std::initializer_list<const char*> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

// Returns whether the response is a 404 of a web server or a proxy. A 404 for HEAD has no body and may be from S3.
bool Is404OfAnotherService(const S3Error& error) {
  return error.http_status == 404 && (error.is_page || error.is_bare);
}

// Reads an error response that contains no S3 error. If it is the response to a GET, PUT or POST and has no S3 headers
// either, it is not from an S3 service (is_bare).
void ReadPage(const http::Response& response, S3Error& error) {
  error.message = FindReason(response.body);
  error.is_page = !error.message.empty();
  const bool s3_would_identify_itself = IsOneOf(response.method, {"GET", "PUT", "POST"});
  error.is_bare = s3_would_identify_itself && !HasS3Header(response);
}

StatusCode ToCode(const S3Error& error) {
  const std::string& code = error.code;
  if (IsOneOf(code, {"QuotaExceeded", "NoSpaceLeftOnDevice", "XMinioStorageFull", "InsufficientStorage"})) {
    return StatusCode::kResourceExhausted;
  }
  // Services use various statuses, among them 404, for rejected credentials and wrong clocks.
  const Remedy remedy = RemedyFor(error);
  if (!code.empty() && (remedy == Remedy::kRenew || remedy == Remedy::kSetClock)) return StatusCode::kPermissionDenied;
  if (remedy == Remedy::kRetry) {
    return error.http_status == 409 ? StatusCode::kAborted : StatusCode::kUnavailable;
  }
  // If retries did not help, the service probably computes checksums differently.
  if (remedy == Remedy::kResend) return StatusCode::kUnimplemented;
  if (IsOneOf(code,
              {"KeyTooLongError", "InvalidURI", "InvalidBucketName", "InvalidObjectName", "XMinioInvalidObjectName"})) {
    return StatusCode::kInvalidArgument;
  }
  // A redirect, a 404 of another service, and the statuses 400, 405 and 501: the request is valid, but this service
  // lacks a feature, or the configured region or endpoint is wrong.
  if (error.http_status >= 300 && error.http_status < 400) return StatusCode::kUnimplemented;
  if (Is404OfAnotherService(error)) return StatusCode::kUnimplemented;
  switch (error.http_status) {
    case 400:
    case 405:
    case 501: return StatusCode::kUnimplemented;
    case 401:
    case 403: return StatusCode::kPermissionDenied;
    case 404: return IsAboutTheObject(error) ? StatusCode::kNotFound : StatusCode::kFailedPrecondition;
    case 412: return StatusCode::kFailedPrecondition;
    case 416: return StatusCode::kOutOfRange;
    case 507: return StatusCode::kResourceExhausted;
    default: return StatusCode::kFailedPrecondition;
  }
}

// Returns advice to the user for the end of the message; "" if the service's message suffices.
std::string HintFor(const S3Error& error) {
  static const std::string region_setting = "set spec.storage.s3.region, or AWS_REGION if there is no document";
  static const std::string endpoint_setting =
      "spec.storage.s3.endpoint, or AWS_ENDPOINT_URL_S3 if there is no document";
  if (!error.region.empty()) return "; the bucket is in region " + error.region + ": " + region_setting;
  if (!error.endpoint.empty()) {
    return "; requests for the bucket go to " + error.endpoint + ": check " + endpoint_setting;
  }
  if (error.http_status >= 300 && error.http_status < 400) {
    return "; check the region and the endpoint: spec.storage.s3, or AWS_REGION and AWS_ENDPOINT_URL_S3";
  }
  // Only for plain text or HTML: an S3 error with a code may contain a URL for other reasons.
  if (error.http_status == 400 && error.code.empty() &&
      ToLowerAscii(error.message).find("https") != std::string::npos) {
    return "; the port expects https://: check " + endpoint_setting;
  }
  if (Is404OfAnotherService(error)) return "; the response is not from an S3 service: check " + endpoint_setting;
  if (IsRefusalOfChecksums(error)) {
    return "; set AWS_REQUEST_CHECKSUM_CALCULATION and AWS_RESPONSE_CHECKSUM_VALIDATION to when_required";
  }
  if (error.code == "NoSuchBucket") return "; create the bucket first";
  if (error.code == "SignatureDoesNotMatch") return "; check the secret access key and the region";
  if (error.code.empty() && error.message.empty() && error.http_status == 403) {
    return "; check the credentials and their permissions (docs/object-storage.md lists them)";
  }
  if (error.code == "AccessDenied") return "; docs/object-storage.md lists the permissions needed";
  return "";
}

// Sets the region of an AuthorizationHeaderMalformed error, which names it in the element Region or in its message.
void ReadRegion(const std::string& element, S3Error& error) {
  if (error.code != "AuthorizationHeaderMalformed") return;
  const std::string region = element.empty() ? FindRegion(error.message) : element;
  if (IsRegion(region)) error.region = region;
}

// Reads the error of a HEAD request, whose response has no body, from headers of MinIO.
void ReadHeadersOfMinio(const http::Response& response, S3Error& error) {
  const std::string* const code = response.Header("x-minio-error-code");
  if (code == nullptr) return;
  error.code = ToShortLine(*code);
  if (const std::string* text = response.Header("x-minio-error-desc"); text != nullptr)
    error.message = ToShortLine(*text);
  ReadRegion("", error);
}

}  // namespace

bool IsRefusalOfChecksums(const S3Error& error) {
  if (error.http_status != 400 && error.http_status != 501) return false;
  if (RemedyFor(error) == Remedy::kResend) return false;
  const std::string words = ToLowerAscii(error.code + " " + error.message);
  return words.find("checksum") != std::string::npos ||
         (error.http_status == 501 && words.find("header") != std::string::npos);
}

bool IsAboutTheObject(const S3Error& error) {
  return error.http_status != 404 ||
         (!Is404OfAnotherService(error) &&
          IsOneOf(error.code, {"", "NoSuchKey", "NoSuchUpload", "NoSuchVersion", "NotFound", "KeyNotFound"}));
}

S3Error ParseError(const http::Response& response) {
  S3Error error{.http_status = response.status};
  if (const std::string* region = response.Header("x-amz-bucket-region"); region != nullptr && response.status != 200) {
    // With these statuses, a wrong region may be the cause; the caller compares the header's region with that of the
    // request. Other responses have the header too.
    if (response.status == 301 || response.status == 307 || response.status == 400) {
      error.region = IsRegion(*region) ? *region : "";
    }
  }
  if (const std::string* id = response.Header("x-amz-request-id"); id != nullptr) error.request_id = ToShortLine(*id);
  pugi::xml_document document;
  if (!document.load_buffer(response.body.data(), response.body.size())) {
    ReadHeadersOfMinio(response, error);
    if (error.code.empty() && error.message.empty()) ReadPage(response, error);
    return error;
  }
  const pugi::xml_node root = document.document_element();
  // STS wraps its errors in an ErrorResponse.
  const pugi::xml_node node = std::string_view(root.name()) == "ErrorResponse" ? root.child("Error") : root;
  if (std::string_view(node.name()) != "Error") {
    ReadPage(response, error);
    return error;
  }
  error.code = ToShortLine(node.child_value("Code"));
  error.message = ToShortLine(node.child_value("Message"));
  error.endpoint = ToShortLine(node.child_value("Endpoint"));
  ReadRegion(node.child_value("Region"), error);
  return error;
}

Remedy RemedyFor(const S3Error& error) {
  const std::string& code = error.code;
  if (code == "RequestTimeTooSkewed") return Remedy::kSetClock;
  if (IsOneOf(code, {"ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired", "RequestExpired",
                     "InvalidAccessKeyId", "InvalidClientTokenId", "InvalidTokenId", "XAdminUserNotFound"})) {
    return Remedy::kRenew;
  }
  // Responses to HEAD have no body that distinguishes an expired token from a refusal.
  if (code.empty() && error.message.empty() &&
      (error.http_status == 400 || error.http_status == 401 || error.http_status == 403)) {
    return Remedy::kRenew;
  }
  if (IsOneOf(code, {"SlowDown", "SlowDownRead", "SlowDownWrite", "ServiceUnavailable", "InternalError", "Throttling",
                     "ThrottlingException", "RequestLimitExceeded", "TooManyRequests", "RequestTimeout",
                     "RequestTimeoutException", "OperationAborted", "ConditionalRequestConflict", "IncompleteBody"})) {
    return Remedy::kRetry;
  }
  if (IsOneOf(code, {"BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch"})) return Remedy::kResend;
  switch (error.http_status) {
    case 408:
    case 429: return Remedy::kRetry;
    case 200: return Remedy::kRetry;  // a response with status 200 whose body is an error
    case 501:
    case 505:
    case 507: return Remedy::kNone;
    default:
      return error.http_status >= 500 ? Remedy::kRetry : Remedy::kNone;  // gateways use codes beyond the standard
  }
}

Status ToStatus(const S3Error& error, const std::string& doing) {
  std::string message = doing + ": the service responded with ";
  message += error.is_of_one_key ? "the error" : std::to_string(error.http_status);
  if (!error.code.empty()) message += " " + error.code;
  if (!error.message.empty()) message += ": " + error.message;
  message += HintFor(error);
  if (!error.request_id.empty()) message += " (request " + error.request_id + ")";
  return Status(ToCode(error), message);
}

}  // namespace espalier::storage
