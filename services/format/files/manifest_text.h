// Reads the text of manifests from a store, and limits their size.
#pragma once

#include <cstdint>
#include <string>

#include "services/storage/object_store.h"

namespace espalier::format {

inline constexpr uint64_t kMaxManifestBytes = uint64_t{256} << 20;

// Returns the text of the manifest at `key`. Returns NotFound if there is none, and InvalidArgument, without reading
// the object, if it is larger than kMaxManifestBytes.
Result<std::string> ReadManifestText(storage::ObjectStore& store, const std::string& key);
// Returns ResourceExhausted if a manifest to be written is larger than max_bytes, because ReadManifestText would reject
// it. Tests pass a smaller limit.
Status CheckManifestSize(const std::string& text, uint64_t max_bytes = kMaxManifestBytes);

}  // namespace espalier::format
