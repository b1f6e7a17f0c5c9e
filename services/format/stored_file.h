// A file in a store against the entry that a manifest has of it: its size, then its checksums, in the memory of a
// block.
#pragma once

#include <functional>
#include <string>

#include "services/format/manifest.h"
#include "services/storage/object_store.h"

namespace espalier::format {

// DataLoss says what size it has and which was expected; NotFound; the store's own.
Status CheckStoredSize(storage::ObjectStore& store, const std::string& key, uint64_t size_bytes);

// Asked before each block, with the bytes that are verified by then: false ends it. Empty: always true.
using GoOn = std::function<bool(uint64_t verified_bytes)>;

// The same for size and every block, where DataLoss names the first bad one. Cancelled where `go_on` says no.
Status VerifyStoredFile(storage::ObjectStore& store, const std::string& key, const FileEntry& entry,
                        const GoOn& go_on = {});

}  // namespace espalier::format
