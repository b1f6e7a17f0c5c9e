// Errors of S3 services: their meaning and remedy.
#pragma once

#include <string>

#include "services/http/transport.h"

namespace espalier::storage {

// docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
struct S3Error {
  int http_status = 0;
  // Whether this is the error of one key in the response to DeleteObjects. Such an error has no HTTP status of its own;
  // http_status is then the one that DeleteObject would have.
  bool is_of_one_key = false;
  std::string code;        // "SlowDown"; "" if the response contains no S3 error
  std::string message;     // printable and short
  bool is_page = false;    // the body is text or HTML instead of an S3 error, as from a proxy or a TLS port
  bool is_bare = false;    // the response to GET, PUT or POST has neither an S3 error nor S3 headers
  std::string request_id;  // for the operators of the service
  std::string region;      // of the bucket, if the service names a valid region
  std::string endpoint;    // for requests to the bucket, if the service names one
};

// Returns the error in a response that is not 2xx, or in a 2xx response with an error as its body. Never fails: omits
// fields that cannot be parsed. For a page, `message` is the first line or the title.
S3Error ParseError(const http::Response& response);

// Returns false for a 404 that is about the bucket or the access key instead of the object, or that is not from an S3
// service (is_page or is_bare). Returns true for every other error.
bool IsAboutTheObject(const S3Error& error);

// What the client does about an error.
enum class Remedy {
  kNone,      // the same request fails again
  kRetry,     // send the request again later
  kResend,    // the body arrived damaged: send the request again, a few times at most
  kRenew,     // send the request again with other credentials
  kSetClock,  // send the request again with the service's time in the signature
};
Remedy RemedyFor(const S3Error& error);

// Returns whether the service rejects the x-amz-checksum-* headers of a request that has them, rather than its body.
bool IsRefusalOfChecksums(const S3Error& error);

// Returns the status for an error; `doing` is its context, such as "reading s3://bucket/key".
Status ToStatus(const S3Error& error, const std::string& doing);

}  // namespace espalier::storage
