// The S3 operations as requests: pure functions, no network, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/storage/object_store.h"
#include "services/storage/s3/bucket.h"
#include "services/storage/s3/sigv4.h"

namespace espalier::storage {

// An operation on a bucket, before it is addressed and signed. Keys are the bucket's, not a store's.
struct S3Request {
  std::string operation;  // S3's name for it: "GetObject"
  std::string method;
  std::string key;  // "": the bucket itself
  QueryParameters query;
  http::Headers headers;
  std::string text;                 // the body of an XML request, otherwise
  std::span<const std::byte> data;  // the caller's bytes, which outlive the request
  // Replaces `text` in WithoutChecksums; nullopt: `text` holds no checksums.
  std::optional<std::string> text_without_checksums = {};

  std::span<const std::byte> body() const { return text.empty() ? data : std::as_bytes(std::span(text)); }
};

// Sent along and kept with the object, so that a writer can tell its own object from another's.
inline constexpr char kWriterHeader[] = "x-amz-meta-espalier-writer";

S3Request HeadObjectRequest(const std::string& key);
// Asks the service for the checksum that it stores with the object.
S3Request GetObjectRequest(const std::string& key);
// range.length > 0. Only of the version that has `etag`, unless that is "".
S3Request GetObjectRangeRequest(const std::string& key, ByteRange range, const std::string& etag);
S3Request PutObjectRequest(const std::string& key, std::span<const std::byte> bytes);
enum class PutCondition { kAlways, kIfAbsent };
S3Request PutMarkedObjectRequest(const std::string& key, std::span<const std::byte> bytes, const std::string& writer,
                                 PutCondition condition);
S3Request DeleteObjectRequest(const std::string& key);
// Up to 1000 keys that XML can hold.
S3Request DeleteObjectsRequest(std::span<const std::string> keys);
// True where the key may stand in a DeleteObjectsRequest: XML has no way to write control characters.
bool FitsXml(const std::string& key);
// The page after `continuation_token`, from the start where that is "".
S3Request ListObjectsRequest(const std::string& prefix, const std::string& continuation_token);

struct UploadedPart {
  int number = 0;  // from 1
  std::string etag;
  uint32_t crc32 = 0;
};
S3Request CreateMultipartUploadRequest(const std::string& key, const std::string& writer);
S3Request UploadPartRequest(const std::string& key, const std::string& upload_id, int number,
                            std::span<const std::byte> bytes);
// `object_crc32` is the CRC-32 of the whole object; nullopt: the service does not keep such checksums of objects in
// parts. It keeps them where its answer to CreateMultipartUpload has "x-amz-checksum-type: FULL_OBJECT". Others take
// the header for a checksum of the parts' checksums, and refuse the upload (MinIO before 2025).
S3Request CompleteMultipartUploadRequest(const std::string& key, const std::string& upload_id,
                                         std::span<const UploadedPart> parts, std::optional<uint32_t> object_crc32);
S3Request AbortMultipartUploadRequest(const std::string& key, const std::string& upload_id);

// True where the request sends checksums beside the signature, or asks for them: x-amz-checksum-* headers.
bool HasChecksums(const S3Request& request);
// Returns the request without those. The signature still covers the SHA-256 of the body.
S3Request WithoutChecksums(S3Request request);

// The four bytes, highest first, in base64: what x-amz-checksum-crc32 holds.
std::string EncodedCrc32(uint32_t crc32);
uint32_t ComputeCrc32(std::span<const std::byte> bytes);

// The request as it is sent: addressed, with its headers and signature. The body is request.body(); payload_sha256 is
// its digest.
http::Request SignedHttpRequest(const S3Request& request, const S3Bucket& bucket, const Credentials& credentials,
                                WallTime now, const std::string& payload_sha256);

}  // namespace espalier::storage
