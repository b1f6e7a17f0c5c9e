// Verifies a file in a store against its entry in a manifest: size and checksums. Memory holds one block.
#pragma once

#include <functional>
#include <string>

#include "services/format/files/file_entry.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// Returns DataLoss, with both sizes, if the object does not have `size_bytes` bytes. Returns NotFound and other errors
// of the store.
Status CheckStoredSize(storage::ObjectStore& store, const std::string& key, uint64_t size_bytes);

// Called before each block with the number of bytes verified so far. Returns whether verification continues. An empty
// function is like one that always returns true.
using ShouldContinue = std::function<bool(uint64_t verified_bytes)>;

// Verifies the size and all blocks of a file. Returns errors of CheckStoredSize, DataLoss that names the first bad
// block, and Cancelled if `should_continue` returns false.
Status VerifyStoredFile(storage::ObjectStore& store, const std::string& key, const FileEntry& entry,
                        const ShouldContinue& should_continue = {});

}  // namespace espalier::format
