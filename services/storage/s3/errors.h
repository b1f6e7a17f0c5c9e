// Errors of S3 services: their meaning and remedy.
#pragma once

#include <string>

#include "services/http/transport.h"

namespace espalier::storage {

// docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
struct S3Error {
  int http_status = 0;
  std::string code;        // "SlowDown"; "" if the response has no body, as for HEAD
  std::string message;     // printable and short
  bool is_page = false;    // the body is text or HTML instead of an S3 error, as from a proxy or a TLS port
  bool is_bare = false;    // has neither an S3 error nor S3 headers, although S3 explains errors of GET, PUT and POST
  std::string request_id;  // for the operators of the service
  std::string region;      // of the bucket, if the service names a valid region
  std::string endpoint;    // for requests to the bucket, if the service names a valid one
};

// Returns the error in a response that is not 2xx, or in a 2xx response with an error as its body. Never fails: omits
// fields that cannot be parsed. For a page, `message` is the first line or the title.
S3Error ParseError(const http::Response& response);

// Returns whether an error concerns the object. Returns false for a 404 about the bucket, the access key or, if the
// body is a page, the S3 service.
bool IsAboutTheObject(const S3Error& error);

enum class Remedy {
  kNone,      // the same request fails again
  kRetry,     // send the request again later
  kResend,    // the body arrived damaged; if the error repeats, the service causes it
  kRenew,     // send the request again with other credentials
  kSetClock,  // send the request again with the service's time in the signature
};
Remedy RemedyFor(const S3Error& error);

// Returns whether the service rejects the x-amz-checksum-* headers of a request that has them, rather than its bytes.
bool IsRefusalOfChecksums(const S3Error& error);

// Returns the status for an error; `doing` is its context, such as "reading s3://bucket/key".
Status ToStatus(const S3Error& error, const std::string& doing);

}  // namespace espalier::storage
