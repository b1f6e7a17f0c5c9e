// Where graphs, partitions and results lie: objects under keys. Drivers: FileStore, MemoryStore, S3Store.
// Keys are relative, '/'-separated, without "." or ".." parts or a leading '/'.
//
// Every driver passes these failpoints (base/failpoint.h): store.head, store.get (also of a range), store.put_part,
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
  std::string etag = {};  // equal for equal bytes of one key, another after a change; "" where the driver has none
};

struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;
};

// An object in the making. Nothing is visible under its key before Commit succeeds; destroyed without Commit it
// leaves nothing behind. One thread at a time.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  virtual Status Write(std::span<const std::byte> bytes) = 0;
  virtual Status Commit() = 0;
};

// Thread-safe. Errors: NotFound (names the key), PermissionDenied, ResourceExhausted (disk full, with path and
// bytes), Unavailable.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  // "file:///srv/graphs": for messages.
  virtual std::string Describe() const = 0;

  virtual Result<ObjectInfo> Head(const std::string& key) = 0;
  virtual Result<std::string> Get(const std::string& key) = 0;
  // Exactly range.length bytes, or OutOfRange.
  virtual Result<std::string> GetRange(const std::string& key, ByteRange range) = 0;
  // The same into `out`, of range.length bytes. On an error the contents of `out` are unspecified. Drivers that can
  // do so write there directly.
  virtual Status ReadRange(const std::string& key, ByteRange range, std::span<std::byte> out);
  // The same of the object that had this ETag, with or without its quotes: Aborted where it has been replaced since.
  // "": of whatever is there.
  virtual Status ReadRangeOfVersion(const std::string& key, const std::string& etag, ByteRange range,
                                    std::span<std::byte> out);
  virtual Result<std::unique_ptr<ObjectWriter>> Put(const std::string& key) = 0;
  // Puts a small object only where none exists: AlreadyExists otherwise. Atomic.
  virtual Status PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) = 0;
  // Objects whose keys start with prefix, sorted by key.
  virtual Result<std::vector<ObjectInfo>> List(const std::string& prefix) = 0;
  // Deleting what does not exist is fine.
  virtual Status Delete(const std::string& key) = 0;
  // Deletes all of `keys`, in fewer requests than one a key where the driver can. After an error any of them may
  // still be there.
  virtual Status DeleteMany(std::span<const std::string> keys);
  // The path of a local file that holds exactly the object's bytes and may be mapped, where the driver has one.
  virtual std::optional<std::string> LocalPath(const std::string& key) = 0;
};

}  // namespace espalier::storage
