// What a service's refusal means, and what to do about it.
#pragma once

#include <string>

#include "services/http/transport.h"

namespace espalier::storage {

// docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
struct S3Error {
  int http_status = 0;
  std::string code;        // "SlowDown"; "" where the answer has no body, as with HEAD
  std::string message;     // printable and short
  bool is_page = false;    // the body is no S3 error but text or HTML, as of a proxy or a TLS port
  bool is_bare = false;    // neither an error nor headers of S3, which explains refusals of GET, PUT and POST
  std::string request_id;  // for the service's operators
  std::string region;      // where the bucket is, when the service says so and it is a valid name
  std::string endpoint;    // where requests for the bucket should go, likewise
};

// From an answer that is not 2xx, or a 2xx one with an error as its body. Never fails: what cannot be read is left out.
// Of a page `message` is the first line or the title.
S3Error ParseError(const http::Response& response);

// False for a 404 that says that something else does not exist: the bucket, the access key, or, where a page says so,
// the S3 service.
bool IsAboutTheObject(const S3Error& error);

enum class Remedy {
  kNone,      // the same request fails again
  kRetry,     // later
  kResend,    // the body arrived damaged; the same refusal again and again is the service's own
  kRenew,     // with other credentials
  kSetClock,  // with the service's time in the signature
};
Remedy RemedyFor(const S3Error& error);

// True where the service refuses the x-amz-checksum-* headers of a request that has them, not the bytes.
bool IsRefusalOfChecksums(const S3Error& error);

// The status of the error; `doing` is its context, like "reading s3://bucket/key".
Status ToStatus(const S3Error& error, const std::string& doing);

}  // namespace espalier::storage
