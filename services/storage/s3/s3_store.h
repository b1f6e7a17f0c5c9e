// Objects in a bucket of S3 or of a service that speaks its protocol.
//
// Uploads: the service verifies the SHA-256 that the signature covers and a CRC-32 beside it. Downloads of whole
// objects are verified by the CRC-32 that the service keeps, where it does; parts of objects have no checksum in S3:
// whoever reads ranges verifies blocks by checksums of the format.
#pragma once

#include <memory>
#include <string>

#include "services/storage/object_store.h"
#include "services/storage/s3/multipart_writer.h"
#include "services/storage/s3/s3_client.h"

namespace espalier::storage {

// Thread-safe; threads read at the same time over connections of their own. A key is root + "/" + key in the bucket.
class S3Store final : public ObjectStore {
 public:
  // `root` is "" or a good key (object_key.h).
  S3Store(std::shared_ptr<S3Client> client, S3Bucket bucket, std::string root, PartSizes part_sizes = {});

  std::string Describe() const override { return ToUri(""); }
  Result<ObjectInfo> Head(const std::string& key) override;
  // At most 16 GiB.
  Result<std::string> Get(const std::string& key) override;
  Result<std::string> GetRange(const std::string& key, ByteRange range) override;
  Status ReadRange(const std::string& key, ByteRange range, std::span<std::byte> out) override {
    return ReadRangeOfVersion(key, "", range, out);
  }
  Status ReadRangeOfVersion(const std::string& key, const std::string& etag, ByteRange range,
                            std::span<std::byte> out) override;
  // Written in parts (multipart_writer.h).
  Result<std::unique_ptr<ObjectWriter>> Put(const std::string& key) override;
  // Atomic where the service honours If-None-Match: * atomically; docs/object-storage.md says what happens elsewhere.
  Status PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) override;
  // Without objects whose keys no store could name ("a//b", "a/").
  Result<std::vector<ObjectInfo>> List(const std::string& prefix) override;
  Status Delete(const std::string& key) override;
  // A thousand keys a request.
  Status DeleteMany(std::span<const std::string> keys) override;
  std::optional<std::string> LocalPath(const std::string&) override { return std::nullopt; }

 private:
  // "s3://bucket/root/key".
  std::string ToUri(const std::string& key) const;
  // The key in the bucket; InvalidArgument for a key that is none.
  Result<std::string> ToBucketKey(const std::string& key) const;
  // The answer to HEAD; NotFound where there is no object.
  Result<http::Response> SendHead(const std::string& bucket_key, const std::string& uri);
  Status CheckInside(const std::string& key, ByteRange range);
  // One request. `version`: the ETag that all of a range must come from; "" until the first answer has told it.
  Status ReadPiece(const std::string& key, ByteRange range, std::span<std::byte> out, std::string& version);
  Status PutWithoutCondition(const std::string& bucket_key, const std::string& uri, std::span<const std::byte> bytes);
  Status DeleteBatch(std::span<const std::string> bucket_keys);

  const std::shared_ptr<S3Client> client_;
  const S3Bucket bucket_;
  const std::string root_;
  const PartSizes part_sizes_;
};

}  // namespace espalier::storage
