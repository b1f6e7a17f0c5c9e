// A store whose reads a test can observe and change.
#pragma once

#include <functional>

#include "services/storage/object_store.h"

namespace espalier::storage {

// Forwards all calls to `inner`. After each successful range read, calls `after_read` (from any thread), which may
// change the bytes or fail the read. Thread-safe if the hook is.
class HookedStore final : public ObjectStore {
 public:
  enum class Conditions { kHonored, kIgnored };  // some services ignore the condition and read any version
  using AfterRead = std::function<Status(const std::string& key, ByteRange range, std::span<std::byte> bytes)>;
  HookedStore(ObjectStore& inner, AfterRead after_read, Conditions conditions = Conditions::kHonored)
      : inner_(inner), after_read_(std::move(after_read)), conditions_(conditions) {}

  std::string Describe() const override { return inner_.Describe(); }
  Result<ObjectInfo> Head(const std::string& key) override { return inner_.Head(key); }
  Result<std::string> Get(const std::string& key) override { return inner_.Get(key); }
  Result<std::string> GetRange(const std::string& key, ByteRange range) override {
    ASSIGN_OR_RETURN(std::string bytes, inner_.GetRange(key, range));
    RETURN_IF_ERROR(after_read_(key, range, std::as_writable_bytes(std::span(bytes))));
    return bytes;
  }
  Status ReadRange(const std::string& key, ByteRange range, std::span<std::byte> out) override {
    RETURN_IF_ERROR(inner_.ReadRange(key, range, out));
    return after_read_(key, range, out);
  }
  Status ReadRangeOfVersion(const std::string& key, const std::string& etag, ByteRange range,
                            std::span<std::byte> out) override {
    RETURN_IF_ERROR(inner_.ReadRangeOfVersion(key, conditions_ == Conditions::kHonored ? etag : "", range, out));
    return after_read_(key, range, out);
  }
  Result<std::unique_ptr<ObjectWriter>> Put(const std::string& key) override { return inner_.Put(key); }
  Status PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) override {
    return inner_.PutIfAbsent(key, bytes);
  }
  Result<std::vector<ObjectInfo>> List(const std::string& prefix) override { return inner_.List(prefix); }
  Status Delete(const std::string& key) override { return inner_.Delete(key); }
  Status DeleteMany(std::span<const std::string> keys) override { return inner_.DeleteMany(keys); }
  std::optional<std::string> LocalPath(const std::string& key) override { return inner_.LocalPath(key); }

 private:
  ObjectStore& inner_;  // outlives this
  const AfterRead after_read_;
  const Conditions conditions_;
};

}  // namespace espalier::storage
