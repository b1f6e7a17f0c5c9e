#include "services/cli/partition_place.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "services/format/partition_files.h"
#include "services/storage/object_key.h"
#include "services/storage/open_store.h"

namespace espalier::cli {
namespace {

constexpr std::string_view kManifest = "manifest.json";
constexpr uint64_t kBytesOfTheFormat = 256;  // the field and white space around it

// Of an object that has been listed: whether it is the manifest of outputs, of one kind of them, of a checkpoint or of
// saved tensors. The first field says so, and no more is read. What says nothing may be a partitioning's that is
// damaged.
Result<bool> IsOfSomethingElse(storage::ObjectStore& store, const storage::ObjectInfo& manifest) {
  if (manifest.size_bytes == 0) return false;
  const storage::ByteRange beginning{.offset = 0, .length = std::min(manifest.size_bytes, kBytesOfTheFormat)};
  ASSIGN_OR_RETURN(std::string text, store.GetRange(manifest.key, beginning));
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
  const std::string field = R"({"format":")";
  return text.starts_with(field) && !text.starts_with(field + format::kPartitionFormatName + '"');
}

// The folders directly below `prefix` that have a partitioning's manifest.
Result<std::vector<std::string>> KeysBelow(storage::ObjectStore& store, const std::string& prefix) {
  const std::string below = storage::FolderPrefix(prefix);
  ASSIGN_OR_RETURN(const std::vector<storage::ObjectInfo> objects, store.List(below));
  std::vector<std::string> keys;
  for (const storage::ObjectInfo& object : objects) {
    const std::string rest = object.key.substr(below.size());
    const size_t slash = rest.find('/');
    if (slash == std::string::npos || rest.substr(slash + 1) != kManifest) continue;
    ASSIGN_OR_RETURN(const bool is_of_something_else, IsOfSomethingElse(store, object));
    if (!is_of_something_else) keys.push_back(rest.substr(0, slash));
  }
  return keys;
}

// A run that has not ended, or has failed, leaves its partitions and no outputs.
Status None(storage::ObjectStore& store, const std::string& prefix, const std::string& uri) {
  const Result<std::vector<std::string>> of_run = KeysBelow(store, storage::JoinKey(prefix, "partitions"));
  if (of_run.ok() && !of_run->empty()) {
    return NotFound(uri + " holds no outputs of a run that has succeeded; partitions are in " + uri + "/partitions");
  }
  return NotFound(uri + " holds no partitioning: there is no manifest.json of one in it or right below it");
}

Status Several(const std::string& uri, const std::vector<std::string>& keys) {
  std::string message = uri + " holds " + std::to_string(keys.size()) + " partitionings; name one of:";
  for (const std::string& key : keys) message += "\n  " + uri + "/" + key;
  return InvalidArgument(message);
}

}  // namespace

Result<PartitionPlace> OpenPartitioning(const std::string& uri, const storage::StoreOpener& open_store) {
  ASSIGN_OR_RETURN(const storage::StoreLocation location, open_store(uri));
  PartitionPlace place{location.store, location.prefix, uri, {}};
  const Result<storage::ObjectInfo> here = place.store->Head(storage::JoinKey(place.prefix, kManifest));
  if (!here.ok() && here.status().code() == StatusCode::kNotFound) {
    ASSIGN_OR_RETURN(const std::vector<std::string> keys, KeysBelow(*place.store, place.prefix));
    if (keys.empty()) return None(*place.store, place.prefix, uri);
    if (keys.size() > 1) return Several(uri, keys);
    place.prefix = storage::JoinKey(place.prefix, keys[0]);
    place.uri += "/" + keys[0];
  }
  ASSIGN_OR_RETURN(place.manifest, format::ReadManifest(*place.store, place.prefix));
  return place;
}

}  // namespace espalier::cli
