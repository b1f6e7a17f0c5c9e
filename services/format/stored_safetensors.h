// A safetensors file in a store, with the entry that a manifest has of it.
#pragma once

#include <memory>
#include <string>

#include "services/format/manifest.h"
#include "services/format/safetensors.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// Puts it at `key` below `folder`, whole or not at all; the entry has that key.
Result<FileEntry> PutSafetensors(storage::ObjectStore& store, const std::string& folder, const std::string& key,
                                 const Safetensors& content);

// The whole object, which must have the size that its manifest says: only then is memory taken for it. Checksums are
// not looked at. DataLoss, NotFound.
Result<std::shared_ptr<const std::string>> ReadStoredBytes(storage::ObjectStore& store, const std::string& key,
                                                           uint64_t size_bytes);

// Tensors out of the bytes of a file, which they keep, once all its checksums are right. DataLoss says what is wrong;
// `where` is for messages.
Result<Safetensors> ParseStoredSafetensors(const FileEntry& entry, std::shared_ptr<const std::string> bytes,
                                           const std::string& where);

}  // namespace espalier::format
