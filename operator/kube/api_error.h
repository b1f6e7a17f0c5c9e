// What an API server says went wrong (metav1.Status), as a value and as a Status.
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
  int code = 0;         // HTTP's
  std::string reason;   // "NotFound", "AlreadyExists", "Conflict", "Expired", "Invalid", "Forbidden", ...
  std::string message;  // the server's, cut at 4 KiB
  std::vector<Cause> causes;
  std::optional<std::chrono::seconds> retry_after;
  std::string continue_token;  // of a 410 to a paged list
};

// Whatever the body is: a Status, another JSON, an HTML page of a proxy, nothing.
ApiError ParseApiError(int http_code, std::string_view body);
ApiError ApiErrorOfStatusObject(const Json& status_object);

// By what the caller should do:
//   404 NotFound                             -> kNotFound
//   409 AlreadyExists                        -> kAlreadyExists
//   409 anything else, 412                   -> kAborted              read again, then repeat
//   410, reason Expired                      -> kOutOfRange           list again
//   504 or any with ResourceVersionTooLarge  -> kFailedPrecondition   list again with resourceVersion ""
//   401 -> kUnauthenticated   403 -> kPermissionDenied (exceeded quota too: the message says so)
//   400, 405, 406, 413, 415, 422, and the 500 to an apply with unknown fields -> kInvalidArgument
//   429 -> kResourceExhausted  408, 500, 502, 503, 504 -> kUnavailable   others -> kUnknown
Status ToStatus(const ApiError& error);

// The kUnavailable of a write for which an admission webhook has to be asked that does not answer. It may stay so until
// somebody looks after the webhook, so people should be told.
bool IsOfAWebhookOutOfReach(const Status& status);

}  // namespace espalier::ctl::kube
