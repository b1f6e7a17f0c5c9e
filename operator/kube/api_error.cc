// ToStatusCode implements the table in api_error.h. A Status object may lack its code or its reason: kReasons supplies
// the missing one. Reasons, fields and messages are truncated, because conditions and logs contain them.
#include "operator/kube/api_error.h"

#include <algorithm>

namespace espalier::ctl::kube {
namespace {

constexpr size_t kMaxMessageBytes = 4096;
constexpr size_t kMaxCauses = 32;
constexpr size_t kMaxForeignBytes = 256;  // of a body that is not a Status object
constexpr int64_t kMaxRetryAfterSeconds = 3600;

// Returns the text if it has at most `max_bytes`. Otherwise cuts it to `max_bytes` or a few less, not within a
// character, so that valid UTF-8 stays valid, and appends "...".
std::string Truncate(std::string text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + "...";
}

// Returns the start of the text as one line: whitespace and control characters become single spaces.
std::string ToOneLine(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, 4 * kMaxForeignBytes)) {
    const bool is_space = static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
    if (!is_space) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  return Truncate(std::move(line), kMaxForeignBytes);
}

// Pairs of an HTTP code and a reason of the API server. If a code is in several pairs, the first one counts.
struct CodeAndReason {
  int code;
  const char* reason;
};
constexpr CodeAndReason kReasons[] = {{400, "BadRequest"},
                                      {401, "Unauthorized"},
                                      {403, "Forbidden"},
                                      {404, "NotFound"},
                                      {405, "MethodNotAllowed"},
                                      {406, "NotAcceptable"},
                                      {409, "Conflict"},
                                      {409, "AlreadyExists"},
                                      {410, "Expired"},
                                      {410, "Gone"},
                                      {413, "RequestEntityTooLarge"},
                                      {415, "UnsupportedMediaType"},
                                      {422, "Invalid"},
                                      {429, "TooManyRequests"},
                                      {500, "InternalError"},
                                      {503, "ServiceUnavailable"},
                                      {504, "Timeout"}};

int ToCode(std::string_view reason) {
  for (const CodeAndReason& known : kReasons) {
    if (known.reason == reason) return known.code;
  }
  return 0;
}

const char* ToReason(int code) {
  for (const CodeAndReason& known : kReasons) {
    if (known.code == code) return known.reason;
  }
  return "";
}

StatusCode ToStatusCode(const ApiError& error) {
  const bool is_too_large = std::any_of(error.causes.begin(), error.causes.end(), [](const ApiError::Cause& cause) {
    return cause.reason == "ResourceVersionTooLarge";
  });
  if (is_too_large) return StatusCode::kFailedPrecondition;
  // For server-side apply of a field that is not in the schema, the API server (1.35) returns 500 without a reason.
  if (error.code == 500 && error.message.starts_with("failed to create typed patch object")) {
    return StatusCode::kInvalidArgument;
  }
  if (error.reason == "Expired") return StatusCode::kOutOfRange;
  switch (error.code) {
    case 404: return StatusCode::kNotFound;
    case 409: return error.reason == "AlreadyExists" ? StatusCode::kAlreadyExists : StatusCode::kAborted;
    case 412: return StatusCode::kAborted;
    case 410: return StatusCode::kOutOfRange;
    case 401: return StatusCode::kUnauthenticated;
    case 403: return StatusCode::kPermissionDenied;
    case 400:
    case 405:
    case 406:
    case 413:
    case 415:
    case 422: return StatusCode::kInvalidArgument;
    case 429: return StatusCode::kResourceExhausted;
    case 408:
    case 500:
    case 502:
    case 503:
    case 504: return StatusCode::kUnavailable;
    default: return StatusCode::kUnknown;
  }
}

bool IsStatusObject(const Json& json) {
  return StringAt(json, {"kind"}) == "Status" && StringAt(json, {"apiVersion"}) == "v1";
}

}  // namespace

ApiError ParseStatusObject(const Json& status_object) {
  ApiError error;
  error.reason = Truncate(StringAt(status_object, {"reason"}), kMaxMessageBytes);
  const int64_t code = IntegerAt(status_object, {"code"}).value_or(0);
  error.code = code >= 100 && code <= 599 ? static_cast<int>(code) : ToCode(error.reason);
  if (error.reason.empty()) error.reason = ToReason(error.code);
  error.message = Truncate(StringAt(status_object, {"message"}), kMaxMessageBytes);
  for (const Json& cause : ListAt(status_object, {"details", "causes"})) {
    if (error.causes.size() == kMaxCauses) break;
    error.causes.push_back({Truncate(StringAt(cause, {"reason"}), kMaxMessageBytes),
                            Truncate(StringAt(cause, {"field"}), kMaxMessageBytes),
                            Truncate(StringAt(cause, {"message"}), kMaxMessageBytes)});
  }
  const std::optional<int64_t> retry_after = IntegerAt(status_object, {"details", "retryAfterSeconds"});
  if (retry_after.value_or(0) > 0)
    error.retry_after = std::chrono::seconds(std::min(*retry_after, kMaxRetryAfterSeconds));
  error.continue_token = StringAt(status_object, {"metadata", "continue"});
  return error;
}

ApiError ParseApiError(int http_code, std::string_view body) {
  const Result<Json> json = ParseJson(body);
  if (json.ok() && IsStatusObject(*json)) {
    ApiError error = ParseStatusObject(*json);
    if (http_code >= 400) error.code = http_code;
    return error;
  }
  // No reason: the body does not come from an API server.
  ApiError error{.code = http_code, .message = "HTTP " + std::to_string(http_code)};
  const std::string text = ToOneLine(body);
  if (!text.empty()) error.message += ": " + text;
  return error;
}

Status ToStatus(const ApiError& error) {
  std::string message = error.message;
  if (message.empty()) message = error.reason;
  if (message.empty()) message = "HTTP " + std::to_string(error.code);
  return Status(ToStatusCode(error), std::move(message));
}

bool IsWebhookUnreachable(const Status& status) {
  return status.code() == StatusCode::kUnavailable &&
         status.message().find("failed calling webhook") != std::string::npos;
}

}  // namespace espalier::ctl::kube
