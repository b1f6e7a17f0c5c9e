// safetensors files. Property: the content of a file survives a round trip through a written file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "services/base/check.h"
#include "services/format/files/safetensors.h"
#include "services/storage/memory_store.h"

namespace {

using espalier::format::Safetensors;

// Reads a copy of the bytes at an address aligned to 64, like that of a mapped file.
espalier::Result<Safetensors> Read(const void* data, size_t size) {
  const std::shared_ptr<void> owner(std::aligned_alloc(64, (size / 64 + 1) * 64), std::free);
  ESPALIER_CHECK(owner != nullptr);
  if (size > 0) std::memcpy(owner.get(), data, size);
  return espalier::format::ReadSafetensors(std::span(static_cast<const std::byte*>(owner.get()), size), owner);
}

std::string Write(const Safetensors& content) {
  espalier::storage::MemoryStore store;
  const auto writer = store.Put("file");
  ESPALIER_CHECK(writer.ok());
  ESPALIER_CHECK(espalier::format::WriteSafetensors(content, **writer).ok() && (*writer)->Commit().ok());
  return *store.Get("file");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto content = Read(data, size);
  if (!content.ok()) {
    ESPALIER_CHECK(!content.status().message().empty());
    return 0;
  }
  const std::string bytes = Write(*content);
  const auto again = Read(bytes.data(), bytes.size());
  ESPALIER_CHECK(again.ok() && again->metadata == content->metadata &&
                 again->tensors.size() == content->tensors.size());
  ESPALIER_CHECK(Write(*again) == bytes);
  return 0;
}
