#include "services/format/files/stored_file.h"

#include <vector>

#include "services/format/files/checksum.h"

namespace espalier::format {

Status CheckStoredSize(storage::ObjectStore& store, const std::string& key, uint64_t size_bytes) {
  ASSIGN_OR_RETURN(const storage::ObjectInfo info, store.Head(key));
  if (info.size_bytes == size_bytes) return {};
  return DataLoss(key + " has " + std::to_string(info.size_bytes) + " bytes, expected " + std::to_string(size_bytes));
}

Status VerifyStoredFile(storage::ObjectStore& store, const std::string& key, const FileEntry& entry,
                        const ShouldContinue& should_continue) {
  RETURN_IF_ERROR(CheckStoredSize(store, key, entry.size_bytes));
  std::vector<std::byte> bytes;
  for (uint64_t block = 0; block < entry.block_hashes.size(); ++block) {
    const storage::ByteRange range = BlockRange(entry, block);
    if (should_continue && !should_continue(range.offset)) return Cancelled("stop requested while verifying " + key);
    bytes.resize(range.length);
    RETURN_IF_ERROR(store.ReadRange(key, range, bytes));
    RETURN_IF_ERROR(CheckBlock(entry, block, bytes, key));
  }
  return Status();
}

}  // namespace espalier::format
