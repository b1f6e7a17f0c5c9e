// An object store in this process's memory, for tests.
#pragma once

#include <map>

#include "services/base/mutex.h"
#include "services/storage/object_store.h"

namespace espalier::storage {

// Thread-safe.
class MemoryStore final : public ObjectStore {
 public:
  std::string Describe() const override { return "mem://"; }
  Result<ObjectInfo> Head(const std::string& key) override;
  Result<std::string> Get(const std::string& key) override;
  Result<std::string> GetRange(const std::string& key, ByteRange range) override;
  Result<std::unique_ptr<ObjectWriter>> Put(const std::string& key) override;
  Status PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) override;
  Result<std::vector<ObjectInfo>> List(const std::string& prefix) override;
  Status Delete(const std::string& key) override;
  std::optional<std::string> LocalPath(const std::string&) override { return std::nullopt; }

 private:
  class Writer;

  Mutex mutex_;
  std::map<std::string, std::string> objects_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::storage
