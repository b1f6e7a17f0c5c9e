#include "services/storage/testing/faulty_store.h"

namespace espalier::storage {

class FaultyStore::Writer final : public ObjectWriter {
 public:
  Writer(std::unique_ptr<ObjectWriter> inner, std::shared_ptr<Counter> counter, std::string key)
      : inner_(std::move(inner)), counter_(std::move(counter)), key_(std::move(key)) {}

  Status Write(std::span<const std::byte> bytes) override {
    RETURN_IF_ERROR(counter_->Next(key_, bytes.size()));
    return inner_->Write(bytes);
  }
  Status Commit() override {
    RETURN_IF_ERROR(counter_->Next(key_, 0));
    return inner_->Commit();
  }

 private:
  const std::unique_ptr<ObjectWriter> inner_;
  const std::shared_ptr<Counter> counter_;
  const std::string key_;
};

Status FaultyStore::Counter::Next(const std::string& key, size_t size_bytes) {
  const int64_t number = writes.fetch_add(1);
  if (first_failing == kNever || number < first_failing) return Status();
  return ResourceExhausted("writing " + std::to_string(size_bytes) + " bytes to " + key +
                           ": injected: no space left on device");
}

FaultyStore::FaultyStore(ObjectStore& inner, int64_t first_failing_write)
    : inner_(inner), counter_(std::make_shared<Counter>(first_failing_write)) {}

Result<std::unique_ptr<ObjectWriter>> FaultyStore::Put(const std::string& key) {
  ASSIGN_OR_RETURN(std::unique_ptr<ObjectWriter> writer, inner_.Put(key));
  return std::unique_ptr<ObjectWriter>(std::make_unique<Writer>(std::move(writer), counter_, key));
}

Status FaultyStore::PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) {
  RETURN_IF_ERROR(counter_->Next(key, bytes.size()));
  return inner_.PutIfAbsent(key, bytes);
}

}  // namespace espalier::storage
