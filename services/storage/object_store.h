// The interface of object stores, which hold graphs, partitions and results as objects with keys. Drivers: FileStore,
// MemoryStore, S3Store. Keys are relative and '/'-separated, without "." or ".." parts or a leading '/' (object_key.h).
//
// Every driver has these failpoints (base/failpoint.h): store.head, store.get (also for ranges), store.put_part,
// store.commit, store.put_if_absent, store.list, store.delete.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/base/status.h"

namespace espalier::storage {

struct ObjectInfo {
  std::string key;
  uint64_t size_bytes = 0;
  std::string etag = {};  // changes when the object's bytes change; "" if the driver has no ETags
};

struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;
};

// Writes one object, of which nothing is visible before Commit succeeds. Destroying the writer without Commit leaves
// nothing behind. Not thread-safe.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  // Appends `bytes`. FailedPrecondition after Commit.
  virtual Status Write(std::span<const std::byte> bytes) = 0;
  // Makes the object visible; it replaces an existing object with its key.
  virtual Status Commit() = 0;
};

// Thread-safe. Common errors: InvalidArgument (invalid key), NotFound (names the key), PermissionDenied,
// ResourceExhausted (disk full, with path and bytes), Unavailable.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  // Returns the store's URI for messages, such as "file:///srv/graphs".
  virtual std::string Describe() const = 0;

  // Returns the size and the ETag of an object.
  virtual Result<ObjectInfo> Head(const std::string& key) = 0;
  // Returns the bytes of an object.
  virtual Result<std::string> Get(const std::string& key) = 0;
  // Returns exactly range.length bytes, or OutOfRange if the object does not have them.
  virtual Result<std::string> GetRange(const std::string& key, ByteRange range) = 0;
  // Reads the range into `out`, which must have range.length bytes; S3Store does so without a copy. After an error, the
  // content of `out` is unspecified.
  virtual Status ReadRange(const std::string& key, ByteRange range, std::span<std::byte> out);
  // Like ReadRange, but returns Aborted if the object is not the version for which Head or List returned `etag`
  // (S3Store also accepts it without its quotes). "" reads any version.
  virtual Status ReadRangeOfVersion(const std::string& key, const std::string& etag, ByteRange range,
                                    std::span<std::byte> out);
  // Returns a writer of the object; the store must outlive the writer.
  virtual Result<std::unique_ptr<ObjectWriter>> Put(const std::string& key) = 0;
  // Creates a small object; returns AlreadyExists if the key exists. Atomic, except on an S3 service without
  // conditional writes: of two concurrent writers, both may succeed there.
  virtual Status PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) = 0;
  // Returns the objects whose keys start with `prefix`, sorted by key.
  virtual Result<std::vector<ObjectInfo>> List(const std::string& prefix) = 0;
  // Deletes an object; OK if it does not exist.
  virtual Status Delete(const std::string& key) = 0;
  // Deletes all `keys`, with fewer requests than keys if the driver can. After an error, any of them may still exist.
  virtual Status DeleteMany(std::span<const std::string> keys);
  // Returns the path of a local file that contains exactly the object's bytes and can be mapped; nullopt if there is no
  // such file.
  virtual std::optional<std::string> LocalPath(const std::string& key) = 0;
};

}  // namespace espalier::storage
