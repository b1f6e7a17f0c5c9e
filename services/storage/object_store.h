// Where graphs, partitions and results lie: objects under keys. Drivers: FileStore, MemoryStore.
// Keys are relative, '/'-separated, without "." or ".." parts or a leading '/'.
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
  virtual Result<std::unique_ptr<ObjectWriter>> Put(const std::string& key) = 0;
  // Puts a small object only where none exists: AlreadyExists otherwise. Atomic.
  virtual Status PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) = 0;
  // Objects whose keys start with prefix, sorted by key.
  virtual Result<std::vector<ObjectInfo>> List(const std::string& prefix) = 0;
  // Deleting what does not exist is fine.
  virtual Status Delete(const std::string& key) = 0;
  // The path of a local file that holds exactly the object's bytes and may be mapped, where the driver has one.
  virtual std::optional<std::string> LocalPath(const std::string& key) = 0;
};

// The store and the key prefix that a URI names: "file:///a/b", "file:a/b" or a bare path. InvalidArgument for
// schemes without a driver.
struct StoreLocation {
  std::shared_ptr<ObjectStore> store;
  std::string prefix;  // "" or ends without '/'
};
Result<StoreLocation> OpenStore(const std::string& uri);

}  // namespace espalier::storage
