#include "services/format/files/stored_safetensors.h"

#include <algorithm>
#include <utility>

#include "services/format/files/checksum.h"
#include "services/format/files/stored_file.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

constexpr uint64_t kReadBytes = uint64_t{16} << 20;  // per request

}  // namespace

Result<FileEntry> PutSafetensors(storage::ObjectStore& store, const std::string& folder, const std::string& key,
                                 const Safetensors& content) {
  ASSIGN_OR_RETURN(std::unique_ptr<storage::ObjectWriter> put, store.Put(storage::JoinKey(folder, key)));
  HashingWriter writer(std::move(put));
  RETURN_IF_ERROR(WriteSafetensors(content, writer));
  RETURN_IF_ERROR(writer.Commit());
  return writer.Entry(key);
}

Result<std::shared_ptr<const std::string>> ReadStoredBytes(storage::ObjectStore& store, const std::string& key,
                                                           uint64_t size_bytes) {
  RETURN_IF_ERROR(CheckStoredSize(store, key, size_bytes));
  auto bytes = std::make_shared<std::string>(size_bytes, '\0');
  const std::span<std::byte> all = std::as_writable_bytes(std::span<char>(*bytes));
  for (uint64_t offset = 0; offset < size_bytes; offset += kReadBytes) {
    const storage::ByteRange range{offset, std::min(kReadBytes, size_bytes - offset)};
    RETURN_IF_ERROR(store.ReadRange(key, range, all.subspan(range.offset, range.length)));
  }
  return std::shared_ptr<const std::string>(std::move(bytes));
}

Result<Safetensors> ParseStoredSafetensors(const FileEntry& entry, std::shared_ptr<const std::string> bytes,
                                           const std::string& where) {
  const auto all = std::as_bytes(std::span<const char>(*bytes));
  RETURN_IF_ERROR(CheckBlocks(entry, all, where, /*threads=*/1));
  return ReadSafetensors(all, std::move(bytes)).While(where);
}

}  // namespace espalier::format
