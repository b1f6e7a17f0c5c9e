#include "services/storage/memory_store.h"

#include <utility>

#include "services/base/failpoint.h"
#include "services/base/hash.h"
#include "services/base/mutex.h"
#include "services/storage/object_key.h"

namespace espalier::storage {
namespace {

std::string ToText(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

class MemoryStore::Writer final : public ObjectWriter {
 public:
  Writer(MemoryStore& store, std::string key) : store_(store), key_(std::move(key)) {}

  Status Write(std::span<const std::byte> bytes) override {
    if (committed_) return FailedPrecondition("writing mem://" + key_ + ": the object is already committed");
    RETURN_IF_ERROR(Failpoint("store.put_part"));
    content_ += ToText(bytes);
    return {};
  }
  Status Commit() override {
    if (std::exchange(committed_, true))
      return FailedPrecondition("committing mem://" + key_ + ": the object is already committed");
    RETURN_IF_ERROR(Failpoint("store.commit"));
    MutexLock lock(&store_.mutex_);
    store_.objects_[key_] = std::move(content_);
    return {};
  }

 private:
  MemoryStore& store_;  // outlives this
  const std::string key_;
  std::string content_;
  bool committed_ = false;
};

Result<ObjectInfo> MemoryStore::Head(const std::string& key) {
  RETURN_IF_ERROR(Failpoint("store.head"));
  ASSIGN_OR_RETURN(const std::string content, Get(key));
  return ObjectInfo{key, content.size(), ToHex(Hash64(content))};
}

Result<std::string> MemoryStore::Get(const std::string& key) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(Failpoint("store.get"));
  MutexLock lock(&mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end()) return NotFound("no object mem://" + key);
  return found->second;
}

Result<std::string> MemoryStore::GetRange(const std::string& key, ByteRange range) {
  ASSIGN_OR_RETURN(const std::string content, Get(key));
  if (range.offset > content.size() || range.length > content.size() - range.offset) {
    return OutOfRange("mem://" + key + " has " + std::to_string(content.size()) + " bytes; requested " +
                      std::to_string(range.length) + " bytes at offset " + std::to_string(range.offset));
  }
  return content.substr(range.offset, range.length);
}

Result<std::unique_ptr<ObjectWriter>> MemoryStore::Put(const std::string& key) {
  RETURN_IF_ERROR(CheckKey(key));
  return std::unique_ptr<ObjectWriter>(std::make_unique<Writer>(*this, key));
}

Status MemoryStore::PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(Failpoint("store.put_if_absent"));
  MutexLock lock(&mutex_);
  if (!objects_.emplace(key, ToText(bytes)).second) return AlreadyExists("mem://" + key + " exists");
  return {};
}

Result<std::vector<ObjectInfo>> MemoryStore::List(const std::string& prefix) {
  RETURN_IF_ERROR(CheckPrefix(prefix));
  RETURN_IF_ERROR(Failpoint("store.list"));
  MutexLock lock(&mutex_);
  std::vector<ObjectInfo> found;
  for (auto it = objects_.lower_bound(prefix); it != objects_.end() && it->first.starts_with(prefix); ++it) {
    found.push_back({it->first, it->second.size(), ToHex(Hash64(it->second))});
  }
  return found;
}

Status MemoryStore::Delete(const std::string& key) {
  RETURN_IF_ERROR(CheckKey(key));
  RETURN_IF_ERROR(Failpoint("store.delete"));
  MutexLock lock(&mutex_);
  objects_.erase(key);
  return {};
}

}  // namespace espalier::storage
