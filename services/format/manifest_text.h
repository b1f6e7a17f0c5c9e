// Manifests as objects of a store: text that is read as a whole.
#pragma once

#include <cstdint>
#include <string>

#include "services/storage/object_store.h"

namespace espalier::format {

inline constexpr uint64_t kMaxManifestBytes = uint64_t{256} << 20;

// NotFound; InvalidArgument for an object that is larger than a manifest may be, of which nothing is read.
Result<std::string> ReadManifestText(storage::ObjectStore& store, const std::string& key);
// Of one that is to be written. ResourceExhausted: nobody would read it.
Status CheckManifestSize(const std::string& text);

}  // namespace espalier::format
