// Parses the responses of S3. Responses are untrusted: the functions return DataLoss for a response that differs from
// S3's documentation, and Unimplemented for a response from a proxy or another service.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/http/transport.h"
#include "services/storage/object_store.h"
#include "services/storage/s3/requests.h"

namespace espalier::storage {

// Returns whether the name of any header begins with "x-amz".
bool HasS3Header(const http::Response& response);
// Returns Unimplemented if a 2xx response to `request` does not come from an S3 service. A response counts as coming
// from S3 if it has an S3 header, or if it is not a web page and, unless the request is a DELETE, has the XML document
// or the object's ETag that S3 sends for this request.
Status CheckSender(const http::Response& response, const S3Request& request);

// Returns the Content-Length of a 2xx response to HEAD or GET of a whole object.
Result<uint64_t> ParseContentLength(const http::Response& response);

struct ContentRange {
  uint64_t first = 0, last = 0, total = 0;  // first <= last < total
};
// Returns the Content-Range of a 206 response: "bytes 3-6/10".
Result<ContentRange> ParseContentRange(const http::Response& response);

// Returns DataLoss if the response has a CRC-32 of the whole object that differs from the CRC-32 of the body.
Status CheckCrc32(const http::Response& response);

struct ListPage {
  std::vector<ObjectInfo> objects;
  std::string continuation_token;  // "": this was the last page
};
// Parses the response to ListObjectsV2.
Result<ListPage> ParseListPage(const std::string& body);

// Parses the response to CreateMultipartUpload.
Result<std::string> ParseUploadId(const std::string& body);
// Returns whether the response to CreateMultipartUpload says that the service will store a checksum of the whole
// object.
bool KeepsObjectChecksum(const http::Response& response);
// Returns the ETag as the response has it, which is usually in quotes.
Result<std::string> ParseETag(const http::Response& response);

// Returns whether the body of a 200 response reports a completed upload. The body may be an error instead, because S3
// sends the status of long operations before they end.
bool IsCompletedUpload(const std::string& body);

struct DeleteFailure {
  std::string key, code, message;
};
// Returns the objects that were not deleted, from the response to DeleteObjects.
Result<std::vector<DeleteFailure>> ParseDeleteResult(const std::string& body);

}  // namespace espalier::storage
