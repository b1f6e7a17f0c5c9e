// Builds the requests of S3 operations. All functions are pure: no network, no clock.
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

// An operation on a bucket before it is addressed and signed. Keys are relative to the bucket, not to a store.
struct S3Request {
  std::string operation;  // S3's name, such as "GetObject"
  std::string method;
  std::string key;  // "": the bucket itself
  QueryParameters query;
  http::Headers headers;
  std::string text;                 // the body of a request in XML; if empty, the body is `data`
  std::span<const std::byte> data;  // the caller's bytes, which must outlive the request
  // Replaces `text` in WithoutChecksums; nullopt: `text` has no checksums.
  std::optional<std::string> text_without_checksums = {};

  std::span<const std::byte> body() const { return text.empty() ? data : std::as_bytes(std::span(text)); }
};

// The header with the writer's name, which the service stores as metadata of the object. It lets a writer recognize its
// own object.
inline constexpr char kWriterHeader[] = "x-amz-meta-espalier-writer";

S3Request HeadObjectRequest(const std::string& key);
// Requests the bytes of the object, and the checksum that the service stores with it.
S3Request GetObjectRequest(const std::string& key);
// range.length must be > 0. Reads only the version with `etag`, unless it is "".
S3Request GetObjectRangeRequest(const std::string& key, ByteRange range, const std::string& etag);
S3Request PutObjectRequest(const std::string& key, std::span<const std::byte> bytes);
// kIfAbsent: the service rejects the request (412) if the object exists.
enum class PutCondition { kAlways, kIfAbsent };
// Like PutObjectRequest, with the writer's name (kWriterHeader).
S3Request PutMarkedObjectRequest(const std::string& key, std::span<const std::byte> bytes, const std::string& writer,
                                 PutCondition condition);
S3Request DeleteObjectRequest(const std::string& key);
// `keys`: at most 1000, each allowed by CanBeInXml.
S3Request DeleteObjectsRequest(std::span<const std::string> keys);
// Returns whether a key is allowed in a DeleteObjectsRequest: XML cannot represent control characters.
bool CanBeInXml(const std::string& key);
// Requests the page after `continuation_token`; the first page if it is "".
S3Request ListObjectsRequest(const std::string& prefix, const std::string& continuation_token);

struct UploadedPart {
  int number = 0;  // from 1
  std::string etag;
  uint32_t crc32 = 0;
};
S3Request CreateMultipartUploadRequest(const std::string& key, const std::string& writer);
S3Request UploadPartRequest(const std::string& key, const std::string& upload_id, int number,
                            std::span<const std::byte> bytes);
// `object_crc32`: the CRC-32 of the whole object if KeepsObjectChecksum (responses.h), otherwise nullopt: a service
// that keeps no such checksum may take x-amz-checksum-crc32 for a checksum of the parts' checksums and reject the
// upload (MinIO before 2025).
S3Request CompleteMultipartUploadRequest(const std::string& key, const std::string& upload_id,
                                         std::span<const UploadedPart> parts, std::optional<uint32_t> object_crc32);
S3Request AbortMultipartUploadRequest(const std::string& key, const std::string& upload_id);

// Returns whether the request sends or requests checksums besides the signature, in x-amz-checksum-* headers or XML.
bool HasChecksums(const S3Request& request);
// Returns the request without these checksums. The signature still covers the SHA-256 of the body.
S3Request WithoutChecksums(S3Request request);

// Returns the value of x-amz-checksum-crc32: the four bytes, most significant first, in base64.
std::string EncodeCrc32(uint32_t crc32);
uint32_t ComputeCrc32(std::span<const std::byte> bytes);

// Returns the request in the form that is sent, with its address, headers and signature. The body is request.body();
// payload_sha256 is its digest.
http::Request SignRequest(const S3Request& request, const S3Bucket& bucket, const Credentials& credentials,
                          WallTime now, const std::string& payload_sha256);

}  // namespace espalier::storage
