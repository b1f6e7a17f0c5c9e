// S3's answers, read. What a service sends is untrusted: anything that is not as documented is DataLoss, and what a
// proxy or another service says in the place of S3, Unimplemented.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/http/transport.h"
#include "services/storage/object_store.h"
#include "services/storage/s3/requests.h"

namespace espalier::storage {

// Whether some header's name begins with "x-amz".
bool HasHeaderOfS3(const http::Response& response);
// Unimplemented where a 2xx answer to `request` has neither a header of S3 nor what each answer of S3 has: a document
// where it describes something, the object's ETag where it sends or takes bytes.
Status CheckSender(const http::Response& response, const S3Request& request);

// Of a 2xx answer to HEAD or GET of a whole object.
Result<uint64_t> ParseContentLength(const http::Response& response);

struct ContentRange {
  uint64_t first = 0, last = 0, total = 0;  // first <= last < total
};
// Of a 206 answer: "bytes 3-6/10".
Result<ContentRange> ParseContentRange(const http::Response& response);

// ok where the body is what the service keeps a whole-object CRC-32 of, and where it keeps none.
Status CheckCrc32(const http::Response& response);

struct ListPage {
  std::vector<ObjectInfo> objects;
  std::string continuation_token;  // "": this was the last page
};
Result<ListPage> ParseListPage(const std::string& body);

Result<std::string> ParseUploadId(const std::string& body);
// True where the answer to CreateMultipartUpload says that the service will keep a checksum of the whole object.
bool KeepsObjectChecksum(const http::Response& response);
Result<std::string> ParseETag(const http::Response& response);

// S3 answers 200 before it knows how a long operation ends: ok only where the body says that it went well.
bool IsCompletedUpload(const std::string& body);

struct DeleteFailure {
  std::string key, code, message;
};
// Those that were not deleted.
Result<std::vector<DeleteFailure>> ParseDeleteResult(const std::string& body);

}  // namespace espalier::storage
