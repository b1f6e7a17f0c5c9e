// Errors of an API server (metav1.Status, below "Status object"), and their conversion to espalier::Status.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "operator/kube/json.h"

namespace espalier::ctl::kube {

struct ApiError {
  struct Cause {
    std::string reason;  // "FieldValueInvalid", "ResourceVersionTooLarge"
    std::string field;   // "spec.template.spec.containers[0].image"
    std::string message;
  };
  int code = 0;         // HTTP status code
  std::string reason;   // "NotFound", "AlreadyExists", "Conflict", "Expired", "Invalid", "Forbidden", ...
  std::string message;  // of the Status object, cut at 4 KiB; without one: see ParseApiError
  std::vector<Cause> causes;
  std::optional<std::chrono::seconds> retry_after;
  std::string continue_token;  // metadata.continue: set in a 410 response to a paged list
};

// Returns the error of a response. The body may be a Status object, other JSON, an HTML page of a proxy, or empty. If
// it is not a Status object, the error has no reason, and its message contains the code and the start of the body.
ApiError ParseApiError(int http_code, std::string_view body);
// Returns the error in a Status object, such as the object of an ERROR event.
ApiError ParseStatusObject(const Json& status_object);

// Returns a Status whose code tells the caller how to proceed:
//   404 NotFound                             -> kNotFound
//   409 AlreadyExists                        -> kAlreadyExists
//   409 with another reason, 412             -> kAborted              read again, then retry
//   410, or any code with reason Expired     -> kOutOfRange           list again
//   any code, cause ResourceVersionTooLarge  -> kFailedPrecondition   list again with resourceVersion ""
//   401 -> kUnauthenticated   403 -> kPermissionDenied (also for an exceeded quota; the message says so)
//   400, 405, 406, 413, 415, 422, and 500 for an apply with unknown fields -> kInvalidArgument
//   429 -> kResourceExhausted  408, 500, 502, 503, 504 -> kUnavailable   others -> kUnknown
Status ToStatus(const ApiError& error);

// Returns whether a write failed with kUnavailable because an admission webhook did not respond. The error may last
// until the webhook is repaired, so the operator reports it to the user.
bool IsWebhookUnreachable(const Status& status);

}  // namespace espalier::ctl::kube
