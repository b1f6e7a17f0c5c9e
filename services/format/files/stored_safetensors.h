// Reads and writes safetensors files in a store together with their manifest entries.
#pragma once

#include <memory>
#include <string>

#include "services/format/files/file_entry.h"
#include "services/format/files/safetensors.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// Writes `content` to `<folder>/<key>`, atomically. Returns its manifest entry, whose key is `key`
// (relative to `folder`).
Result<FileEntry> PutSafetensors(storage::ObjectStore& store, const std::string& folder, const std::string& key,
                                 const Safetensors& content);

// Reads a whole object. Checks that its size is `size_bytes` before it allocates memory; does not verify checksums.
// Returns DataLoss if the size differs, and NotFound if the object does not exist.
Result<std::shared_ptr<const std::string>> ReadStoredBytes(storage::ObjectStore& store, const std::string& key,
                                                           uint64_t size_bytes);

// Verifies `bytes`, a whole file, against its entry and parses them. The tensors share ownership of `bytes`. Returns
// DataLoss if the size or checksum differs, and errors of ReadSafetensors. `where` names the file in messages.
Result<Safetensors> ParseStoredSafetensors(const FileEntry& entry, std::shared_ptr<const std::string> bytes,
                                           const std::string& where);

}  // namespace espalier::format
