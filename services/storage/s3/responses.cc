// S3 sends results in headers or in small XML documents. Each function checks one of them. A response of another
// service is recognized by the lack of S3's headers, documents and ETags (CheckSender), or as a web page (ParseRoot).
#include "services/storage/s3/responses.h"

#include <pugixml.hpp>

#include <algorithm>
#include <array>
#include <string_view>

#include "services/base/ascii.h"
#include "services/base/parse_number.h"
#include "services/base/percent_encoding.h"

namespace espalier::storage {
namespace {

bool IsWebPage(const std::string& body) {
  const std::string beginning = ToLowerAscii(body.substr(0, 256));
  return beginning.find("<!doctype html") != std::string::npos || beginning.find("<html") != std::string::npos;
}

Status MakeSenderError(const std::string& sender) {
  return Unimplemented(
      sender +
      " responded instead of an S3 service: check spec.storage.s3.endpoint, or AWS_ENDPOINT_URL_S3 if there is no "
      "document");
}

// Returns whether the body is an XML document of S3, complete or truncated.
bool IsDocumentOfS3(const std::string& body) {
  static constexpr std::array<std::string_view, 5> kRoots = {"ListBucketResult", "InitiateMultipartUploadResult",
                                                             "CompleteMultipartUploadResult", "DeleteResult", "Error"};
  pugi::xml_document document;
  document.load_buffer(body.data(), body.size());
  return std::find(kRoots.begin(), kRoots.end(), document.document_element().name()) != kRoots.end();
}

// Returns whether the response has the ETag of an object. Web frameworks add weak ETags to any response; S3 objects
// never have them.
bool HasETagOfObject(const http::Response& response) {
  const std::string* const etag = response.Header("etag");
  return etag != nullptr && !etag->empty() && !etag->starts_with("W/");
}

// Returns the root element, whose name must be `name`.
Result<pugi::xml_node> ParseRoot(pugi::xml_document& document, const std::string& body, std::string_view name) {
  if (IsWebPage(body)) return MakeSenderError("a web server");
  const pugi::xml_parse_result parsed = document.load_buffer(body.data(), body.size());
  if (!parsed) return DataLoss(std::string("the service's response is not XML: ") + parsed.description());
  const pugi::xml_node root = document.document_element();
  if (root.name() == name) return root;
  return DataLoss("the service's response is not a " + std::string(name));
}

}  // namespace

bool HasS3Header(const http::Response& response) {
  return std::any_of(response.headers.begin(), response.headers.end(),
                     [](const auto& header) { return header.first.starts_with("x-amz"); });
}

// A web page can also be an object of the bucket; the response then has S3 headers. A response to a deletion may have
// neither S3 headers nor a body.
Status CheckSender(const http::Response& response, const S3Request& request) {
  if (HasS3Header(response)) return Status();
  const std::string* const type = response.Header("content-type");
  if (type != nullptr && ToLowerAscii(*type).starts_with("text/html")) return MakeSenderError("a web server");
  const bool expects_document = request.method == "POST" || (request.method == "GET" && request.key.empty());
  const bool looks_like_s3 =
      request.method == "DELETE" || (expects_document ? IsDocumentOfS3(response.body) : HasETagOfObject(response));
  return looks_like_s3 ? Status() : MakeSenderError("something else");
}

Result<uint64_t> ParseContentLength(const http::Response& response) {
  const std::string* const text = response.Header("content-length");
  const std::optional<uint64_t> length = text == nullptr ? std::nullopt : ParseNumber<uint64_t>(*text);
  if (!length) return DataLoss("the service's response has no valid Content-Length");
  return *length;
}

Result<ContentRange> ParseContentRange(const http::Response& response) {
  const std::string* const header = response.Header("content-range");
  const std::string_view text = header == nullptr ? std::string_view() : *header;
  const size_t dash = text.find('-'), slash = text.find('/');
  if (text.starts_with("bytes ") && dash != text.npos && slash != text.npos && dash < slash) {
    const auto first = ParseNumber<uint64_t>(text.substr(6, dash - 6));
    const auto last = ParseNumber<uint64_t>(text.substr(dash + 1, slash - dash - 1));
    const auto total = ParseNumber<uint64_t>(text.substr(slash + 1));
    if (first && last && total && *first <= *last && *last < *total) return ContentRange{*first, *last, *total};
  }
  return DataLoss("the service's response to a range has no valid Content-Range");
}

Status CheckCrc32(const http::Response& response) {
  const std::string* const expected = response.Header("x-amz-checksum-crc32");
  // "...-3" is a checksum of three parts' checksums.
  if (expected == nullptr || expected->find('-') != std::string::npos) return Status();
  const std::string* const type = response.Header("x-amz-checksum-type");
  if (type != nullptr && *type != "FULL_OBJECT") return Status();
  const std::string actual = EncodeCrc32(ComputeCrc32(std::as_bytes(std::span(response.body))));
  if (actual == *expected) return Status();
  return DataLoss("the bytes have CRC-32 " + actual + ", expected " + expected->substr(0, 16));
}

Result<ListPage> ParseListPage(const std::string& body) {
  pugi::xml_document document;
  ASSIGN_OR_RETURN(const pugi::xml_node root, ParseRoot(document, body, "ListBucketResult"));
  const bool is_encoded = std::string_view(root.child_value("EncodingType")) == "url";
  ListPage page;
  for (const pugi::xml_node entry : root.children("Contents")) {
    ObjectInfo object{.key = entry.child_value("Key"), .etag = entry.child_value("ETag")};
    if (is_encoded) {
      ASSIGN_OR_RETURN(object.key, PercentDecode(object.key, PlusDecoding::kSpace));
    }
    const std::optional<uint64_t> size_bytes = ParseNumber<uint64_t>(entry.child_value("Size"));
    if (object.key.empty() || !size_bytes) return DataLoss("an object in the service's listing has no key or no size");
    object.size_bytes = *size_bytes;
    page.objects.push_back(std::move(object));
  }
  if (std::string_view(root.child_value("IsTruncated")) != "true") return page;
  page.continuation_token = root.child_value("NextContinuationToken");
  if (page.continuation_token.empty())
    return DataLoss("the service's listing is truncated, but has no continuation token");
  return page;
}

Result<std::string> ParseUploadId(const std::string& body) {
  pugi::xml_document document;
  ASSIGN_OR_RETURN(const pugi::xml_node root, ParseRoot(document, body, "InitiateMultipartUploadResult"));
  std::string id = root.child_value("UploadId");
  if (id.empty() || id.size() > 4096) return DataLoss("the service's response has no UploadId");
  return id;
}

bool KeepsObjectChecksum(const http::Response& response) {
  const std::string* const type = response.Header("x-amz-checksum-type");
  return type != nullptr && *type == "FULL_OBJECT";
}

Result<std::string> ParseETag(const http::Response& response) {
  const std::string* const etag = response.Header("etag");
  if (etag == nullptr || etag->empty() || etag->size() > 1024) return DataLoss("the service's response has no ETag");
  return *etag;
}

bool IsCompletedUpload(const std::string& body) {
  pugi::xml_document document;
  return ParseRoot(document, body, "CompleteMultipartUploadResult").ok();
}

Result<std::vector<DeleteFailure>> ParseDeleteResult(const std::string& body) {
  pugi::xml_document document;
  ASSIGN_OR_RETURN(const pugi::xml_node root, ParseRoot(document, body, "DeleteResult"));
  std::vector<DeleteFailure> failures;
  for (const pugi::xml_node error : root.children("Error")) {
    failures.push_back({error.child_value("Key"), error.child_value("Code"), error.child_value("Message")});
  }
  return failures;
}

}  // namespace espalier::storage
