#include "services/format/files/file_entry_json.h"

#include "services/base/hash.h"
#include "services/storage/object_key.h"

namespace espalier::format {

nlohmann::ordered_json FileEntryToJson(const FileEntry& file) {
  nlohmann::ordered_json hashes = nlohmann::ordered_json::array();
  for (const uint64_t hash : file.block_hashes) hashes.push_back(ToHex(hash));
  return {{"key", file.key}, {"size_bytes", file.size_bytes}, {"xxh3_64", hashes}};
}

Result<FileEntry> FileEntryFromJson(const JsonFields& fields) {
  FileEntry file;
  ASSIGN_OR_RETURN(file.key, fields.Text("key"));
  if (const Status good = storage::CheckKey(file.key); !good.ok()) return fields.InvalidField("key", good.message());
  ASSIGN_OR_RETURN(file.size_bytes, fields.Unsigned("size_bytes"));
  RETURN_IF_ERROR(fields.ForEach("xxh3_64", [&](const nlohmann::json& element, const std::string& path) -> Status {
    if (!element.is_string() || !ParseHex(element.get_ref<const std::string&>(), &file.block_hashes.emplace_back())) {
      return InvalidArgument(path + ": expected 16 hexadecimal digits");
    }
    return Status();
  }));
  const uint64_t num_blocks =
      file.size_bytes / kChecksumBlockBytes + (file.size_bytes % kChecksumBlockBytes == 0 ? 0 : 1);
  if (file.block_hashes.size() != num_blocks) {
    return fields.InvalidField("xxh3_64", "expected one checksum for each of " + std::to_string(num_blocks) +
                                              " blocks, found " + std::to_string(file.block_hashes.size()));
  }
  return file;
}

}  // namespace espalier::format
