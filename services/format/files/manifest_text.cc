#include "services/format/files/manifest_text.h"

namespace espalier::format {

Result<std::string> ReadManifestText(storage::ObjectStore& store, const std::string& key) {
  const Result<storage::ObjectInfo> info = store.Head(key);  // ignore errors: Get returns a better one
  if (info.ok() && info->size_bytes > kMaxManifestBytes) {
    return InvalidArgument(key + " has " + std::to_string(info->size_bytes) +
                           " bytes, too large for a manifest: expected at most " + std::to_string(kMaxManifestBytes));
  }
  return store.Get(key);
}

Status CheckManifestSize(const std::string& text, uint64_t max_bytes) {
  if (text.size() <= max_bytes) return Status();
  return ResourceExhausted("the manifest has " + std::to_string(text.size()) + " bytes: expected at most " +
                           std::to_string(max_bytes));
}

}  // namespace espalier::format
