#include "services/partitioner/counted_store.h"

#include <memory>
#include <utility>

namespace espalier::partitioner {
namespace {

using storage::ByteRange;
using storage::ObjectInfo;

void AddBytes(uint64_t bytes, telemetry::Counter* counter) { counter->Add(static_cast<double>(bytes)); }

class CountedWriter final : public storage::ObjectWriter {
 public:
  CountedWriter(std::unique_ptr<storage::ObjectWriter> inner, telemetry::Counter written)
      : inner_(std::move(inner)), written_(written) {}

  Status Write(std::span<const std::byte> bytes) override {
    RETURN_IF_ERROR(inner_->Write(bytes));
    AddBytes(bytes.size(), &written_);
    return Status();
  }
  Status Commit() override { return inner_->Commit(); }

 private:
  const std::unique_ptr<storage::ObjectWriter> inner_;
  telemetry::Counter written_;
};

class CountedStore final : public storage::ObjectStore {
 public:
  CountedStore(std::shared_ptr<storage::ObjectStore> inner, ByteCounters bytes)
      : inner_(std::move(inner)), bytes_(bytes) {}

  std::string Describe() const override { return inner_->Describe(); }
  Result<ObjectInfo> Head(const std::string& key) override { return inner_->Head(key); }
  Result<std::string> Get(const std::string& key) override { return Counted(inner_->Get(key)); }
  Result<std::string> GetRange(const std::string& key, ByteRange range) override {
    return Counted(inner_->GetRange(key, range));
  }
  Status ReadRange(const std::string& key, ByteRange range, std::span<std::byte> out) override {
    RETURN_IF_ERROR(inner_->ReadRange(key, range, out));
    AddBytes(out.size(), &bytes_.read);
    return Status();
  }
  Status ReadRangeOfVersion(const std::string& key, const std::string& etag, ByteRange range,
                            std::span<std::byte> out) override {
    RETURN_IF_ERROR(inner_->ReadRangeOfVersion(key, etag, range, out));
    AddBytes(out.size(), &bytes_.read);
    return Status();
  }
  Result<std::unique_ptr<storage::ObjectWriter>> Put(const std::string& key) override {
    ASSIGN_OR_RETURN(std::unique_ptr<storage::ObjectWriter> writer, inner_->Put(key));
    return std::unique_ptr<storage::ObjectWriter>(new CountedWriter(std::move(writer), bytes_.written));
  }
  Status PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) override {
    RETURN_IF_ERROR(inner_->PutIfAbsent(key, bytes));
    AddBytes(bytes.size(), &bytes_.written);
    return Status();
  }
  Result<std::vector<ObjectInfo>> List(const std::string& prefix) override { return inner_->List(prefix); }
  Status Delete(const std::string& key) override { return inner_->Delete(key); }
  Status DeleteMany(std::span<const std::string> keys) override { return inner_->DeleteMany(keys); }
  std::optional<std::string> LocalPath(const std::string& key) override { return inner_->LocalPath(key); }

 private:
  Result<std::string> Counted(Result<std::string> bytes) {
    if (bytes.ok()) AddBytes(bytes->size(), &bytes_.read);
    return bytes;
  }

  const std::shared_ptr<storage::ObjectStore> inner_;
  ByteCounters bytes_;  // thread-safe handles
};

}  // namespace

storage::StoreOpener CountBytes(storage::StoreOpener open, ByteCounters bytes) {
  return [open = std::move(open), bytes](const std::string& uri) -> Result<storage::StoreLocation> {
    ASSIGN_OR_RETURN(storage::StoreLocation location, open(uri));
    location.store = std::make_shared<CountedStore>(std::move(location.store), bytes);
    return location;
  };
}

}  // namespace espalier::partitioner
