// A store whose writes fail from a given one on, for tests of a full disk.
#pragma once

#include <atomic>
#include <memory>

#include "services/storage/object_store.h"

namespace espalier::storage {

// Forwards all calls to `inner`, except that the n-th write and all later ones fail with ResourceExhausted. A write is
// a call of ObjectWriter::Write, ObjectWriter::Commit or PutIfAbsent, counted over all objects from 0. Failed calls do
// not reach `inner`. Thread-safe.
class FaultyStore final : public ObjectStore {
 public:
  static constexpr int64_t kNever = -1;
  explicit FaultyStore(ObjectStore& inner, int64_t first_failing_write = kNever);

  // Returns the number of writes, including failed ones.
  int64_t num_writes() const { return counter_->writes.load(); }

  std::string Describe() const override { return inner_.Describe(); }
  Result<ObjectInfo> Head(const std::string& key) override { return inner_.Head(key); }
  Result<std::string> Get(const std::string& key) override { return inner_.Get(key); }
  Result<std::string> GetRange(const std::string& key, ByteRange range) override { return inner_.GetRange(key, range); }
  Status ReadRange(const std::string& key, ByteRange range, std::span<std::byte> out) override {
    return inner_.ReadRange(key, range, out);
  }
  Status ReadRangeOfVersion(const std::string& key, const std::string& etag, ByteRange range,
                            std::span<std::byte> out) override {
    return inner_.ReadRangeOfVersion(key, etag, range, out);
  }
  Result<std::unique_ptr<ObjectWriter>> Put(const std::string& key) override;
  Status PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) override;
  Result<std::vector<ObjectInfo>> List(const std::string& prefix) override { return inner_.List(prefix); }
  Status Delete(const std::string& key) override { return inner_.Delete(key); }
  Status DeleteMany(std::span<const std::string> keys) override { return inner_.DeleteMany(keys); }
  std::optional<std::string> LocalPath(const std::string& key) override { return inner_.LocalPath(key); }

 private:
  struct Counter {
    explicit Counter(int64_t first) : first_failing(first) {}
    // Counts a write; returns OK if it may proceed.
    Status Next(const std::string& key, size_t size_bytes);

    const int64_t first_failing;
    std::atomic<int64_t> writes{0};
  };
  class Writer;

  ObjectStore& inner_;  // outlives this
  const std::shared_ptr<Counter> counter_;
};

}  // namespace espalier::storage
