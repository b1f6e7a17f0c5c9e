// Each operation of S3 has a function that fills an S3Request, without host and credentials. SignRequest adds host and
// credentials for one attempt, because retries may use another region, other credentials and a later time.
#include "services/storage/s3/requests.h"

#include <openssl/evp.h>
#include <zlib.h>

#include <algorithm>
#include <utility>

#include "services/base/base64.h"
#include "services/base/check.h"

namespace espalier::storage {
namespace {

constexpr char kXmlNamespace[] = "http://s3.amazonaws.com/doc/2006-03-01/";

// Returns the digest in base64.
std::string ComputeMd5(const std::string& text) {
  std::string digest(16, '\0');
  unsigned int length = 0;
  const int made = EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), &length,
                              EVP_md5(), nullptr);
  ESPALIER_CHECK(made == 1 && length == digest.size()) << "MD5 failed";
  return EncodeBase64(digest);
}

std::string EscapeXml(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

bool IsChecksumHeader(const std::pair<std::string, std::string>& header) {
  return header.first.starts_with("x-amz-checksum-");
}

}  // namespace

S3Request HeadObjectRequest(const std::string& key) {
  return {.operation = "HeadObject", .method = "HEAD", .key = key};
}

S3Request GetObjectRequest(const std::string& key) {
  return {.operation = "GetObject", .method = "GET", .key = key, .headers = {{"x-amz-checksum-mode", "ENABLED"}}};
}

S3Request GetObjectRangeRequest(const std::string& key, ByteRange range, const std::string& etag) {
  const uint64_t last = range.offset + range.length - 1;
  S3Request request{.operation = "GetObject", .method = "GET", .key = key};
  request.headers.emplace_back("range", "bytes=" + std::to_string(range.offset) + "-" + std::to_string(last));
  if (!etag.empty()) request.headers.emplace_back("if-match", etag);
  return request;
}

S3Request PutObjectRequest(const std::string& key, std::span<const std::byte> bytes) {
  return {.operation = "PutObject",
          .method = "PUT",
          .key = key,
          .headers = {{"x-amz-checksum-crc32", EncodeCrc32(ComputeCrc32(bytes))}},
          .data = bytes};
}

S3Request PutMarkedObjectRequest(const std::string& key, std::span<const std::byte> bytes, const std::string& writer,
                                 PutCondition condition) {
  S3Request request = PutObjectRequest(key, bytes);
  request.headers.emplace_back(kWriterHeader, writer);
  if (condition == PutCondition::kIfAbsent) request.headers.emplace_back("if-none-match", "*");
  return request;
}

S3Request DeleteObjectRequest(const std::string& key) {
  return {.operation = "DeleteObject", .method = "DELETE", .key = key};
}

S3Request DeleteObjectsRequest(std::span<const std::string> keys) {
  std::string xml = std::string("<Delete xmlns=\"") + kXmlNamespace + "\"><Quiet>true</Quiet>";
  for (const std::string& key : keys) xml += "<Object><Key>" + EscapeXml(key) + "</Key></Object>";
  xml += "</Delete>";
  // The only operation for which S3 requires a digest in addition to the signature.
  return {.operation = "DeleteObjects",
          .method = "POST",
          .query = {{"delete", ""}},
          .headers = {{"content-md5", ComputeMd5(xml)}, {"content-type", "application/xml"}},
          .text = xml};
}

bool CanBeInXml(const std::string& key) {
  return std::none_of(key.begin(), key.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

S3Request ListObjectsRequest(const std::string& prefix, const std::string& continuation_token) {
  // Requests URL-encoded keys, because keys may contain bytes that XML cannot represent.
  S3Request request{
      .operation = "ListObjectsV2", .method = "GET", .query = {{"list-type", "2"}, {"encoding-type", "url"}}};
  if (!prefix.empty()) request.query.emplace_back("prefix", prefix);
  if (!continuation_token.empty()) request.query.emplace_back("continuation-token", continuation_token);
  return request;
}

S3Request CreateMultipartUploadRequest(const std::string& key, const std::string& writer) {
  return {.operation = "CreateMultipartUpload",
          .method = "POST",
          .key = key,
          .query = {{"uploads", ""}},
          .headers = {
              {"x-amz-checksum-algorithm", "CRC32"}, {"x-amz-checksum-type", "FULL_OBJECT"}, {kWriterHeader, writer}}};
}

S3Request UploadPartRequest(const std::string& key, const std::string& upload_id, int number,
                            std::span<const std::byte> bytes) {
  S3Request request = PutObjectRequest(key, bytes);
  request.operation = "UploadPart";
  request.query = {{"partNumber", std::to_string(number)}, {"uploadId", upload_id}};
  return request;
}

S3Request CompleteMultipartUploadRequest(const std::string& key, const std::string& upload_id,
                                         std::span<const UploadedPart> parts, std::optional<uint32_t> object_crc32) {
  const auto xml = [&](bool with_checksums) {
    std::string text = std::string("<CompleteMultipartUpload xmlns=\"") + kXmlNamespace + "\">";
    for (const UploadedPart& part : parts) {
      text += "<Part>";
      if (with_checksums) text += "<ChecksumCRC32>" + EncodeCrc32(part.crc32) + "</ChecksumCRC32>";
      text += "<ETag>" + EscapeXml(part.etag) + "</ETag><PartNumber>" + std::to_string(part.number) +
              "</PartNumber></Part>";
    }
    return text + "</CompleteMultipartUpload>";
  };
  S3Request request{.operation = "CompleteMultipartUpload",
                    .method = "POST",
                    .key = key,
                    .query = {{"uploadId", upload_id}},
                    .headers = {{"content-type", "application/xml"}},
                    .text = xml(/*with_checksums=*/true),
                    .text_without_checksums = xml(/*with_checksums=*/false)};
  if (object_crc32) {
    request.headers.emplace_back("x-amz-checksum-crc32", EncodeCrc32(*object_crc32));
    request.headers.emplace_back("x-amz-checksum-type", "FULL_OBJECT");
  }
  return request;
}

S3Request AbortMultipartUploadRequest(const std::string& key, const std::string& upload_id) {
  return {.operation = "AbortMultipartUpload", .method = "DELETE", .key = key, .query = {{"uploadId", upload_id}}};
}

bool HasChecksums(const S3Request& request) {
  return request.text_without_checksums.has_value() ||
         std::any_of(request.headers.begin(), request.headers.end(), IsChecksumHeader);
}

S3Request WithoutChecksums(S3Request request) {
  std::erase_if(request.headers, IsChecksumHeader);
  if (request.text_without_checksums) request.text = *std::exchange(request.text_without_checksums, std::nullopt);
  return request;
}

std::string EncodeCrc32(uint32_t crc32) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(crc32 >> shift);
  return EncodeBase64(bytes);
}

uint32_t ComputeCrc32(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

http::Request SignRequest(const S3Request& request, const S3Bucket& bucket, const Credentials& credentials,
                          WallTime now, const std::string& payload_sha256) {
  SignableRequest signable{.method = request.method,
                           .path = bucket.path_prefix + (request.key.empty() ? "" : "/" + request.key),
                           .query = request.query,
                           .headers = request.headers,
                           .payload_sha256 = payload_sha256};
  signable.headers.emplace_back("host", bucket.host);
  signable.headers.emplace_back("x-amz-content-sha256", payload_sha256);
  signable.headers.emplace_back("x-amz-date", FormatBasicUtc(now));
  if (!credentials.session_token.empty()) {
    signable.headers.emplace_back("x-amz-security-token", credentials.session_token.Reveal());
  }
  const std::string query = CanonicalQuery(signable.query);
  http::Request http{.method = request.method,
                     .url = bucket.Origin() + CanonicalPath(signable.path) + (query.empty() ? "" : "?" + query),
                     .headers = signable.headers,
                     .body = request.body()};
  http.headers.emplace_back("authorization", Authorization(signable, {now, bucket.region, "s3"}, credentials));
  return http;
}

}  // namespace espalier::storage
