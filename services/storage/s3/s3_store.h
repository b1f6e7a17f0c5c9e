// An object store in a bucket of S3 or of a compatible service.
//
// Uploads are verified by the service against the signed SHA-256 and a CRC-32. Downloads of whole objects are verified
// against the CRC-32 stored by the service, if it has one. There is no CRC-32 if the settings omit it
// (S3Checksums::kWhenRequired) or the service refuses it. S3 has no checksums for ranges, so code that reads ranges
// verifies blocks with the checksums of the file format.
#pragma once

#include <memory>
#include <string>

#include "services/storage/object_store.h"
#include "services/storage/s3/multipart_writer.h"
#include "services/storage/s3/s3_client.h"

namespace espalier::storage {

// Thread-safe; concurrent calls use separate connections. The key `key` of this store is the key `root + "/" + key`
// of the bucket, or `key` if `root` is "".
class S3Store final : public ObjectStore {
 public:
  // `root` is "" or a valid key (object_key.h).
  S3Store(std::shared_ptr<S3Client> client, S3Bucket bucket, std::string root, PartSizes part_sizes = {});

  std::string Describe() const override { return ToUri(""); }
  Result<ObjectInfo> Head(const std::string& key) override;
  // Reads objects of at most 16 GiB.
  Result<std::string> Get(const std::string& key) override;
  Result<std::string> GetRange(const std::string& key, ByteRange range) override;
  Status ReadRange(const std::string& key, ByteRange range, std::span<std::byte> out) override {
    return ReadRangeOfVersion(key, "", range, out);
  }
  // With a weak ETag ("W/..."), reads any version, because If-Match does not accept such an ETag.
  Status ReadRangeOfVersion(const std::string& key, const std::string& etag, ByteRange range,
                            std::span<std::byte> out) override;
  // Returns a writer that uploads in parts (multipart_writer.h).
  Result<std::unique_ptr<ObjectWriter>> Put(const std::string& key) override;
  // Atomic if the service evaluates If-None-Match: * atomically; docs/object-storage.md describes other services.
  Status PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) override;
  // Omits objects with keys that are not valid in a store ("a//b", "a/").
  Result<std::vector<ObjectInfo>> List(const std::string& prefix) override;
  Status Delete(const std::string& key) override;
  // Deletes up to a thousand keys per request.
  Status DeleteMany(std::span<const std::string> keys) override;
  std::optional<std::string> LocalPath(const std::string&) override { return std::nullopt; }

 private:
  // Returns "s3://bucket/root/key".
  std::string ToUri(const std::string& key) const;
  // Returns the key in the bucket; InvalidArgument for an invalid key.
  Result<std::string> ToBucketKey(const std::string& key) const;
  // Returns the response to HEAD; NotFound if the object does not exist.
  Result<http::Response> SendHead(const std::string& bucket_key, const std::string& uri);
  // Returns OutOfRange unless the object has the bytes of the range.
  Status CheckRange(const std::string& key, ByteRange range);
  // Reads a piece of a range with one request. `version` is the ETag that the object must have; if it is "", it is set
  // to the object's ETag, unless that is weak, so that the following pieces are of the same version.
  Status ReadPiece(const std::string& key, ByteRange range, std::span<std::byte> out, std::string& version);
  // PutIfAbsent for services without conditional writes.
  Status PutWithoutCondition(const std::string& bucket_key, const std::string& uri, std::span<const std::byte> bytes);
  Status DeleteBatch(std::span<const std::string> bucket_keys);

  const std::shared_ptr<S3Client> client_;
  const S3Bucket bucket_;
  const std::string root_;
  const PartSizes part_sizes_;
};

}  // namespace espalier::storage
