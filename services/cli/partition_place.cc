#include "services/cli/partition_place.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "services/format/partition/partition_files.h"
#include "services/storage/object_key.h"
#include "services/storage/open_store.h"

namespace espalier::cli {
namespace {

constexpr std::string_view kManifest = "manifest.json";
constexpr uint64_t kBytesOfTheFormat = 256;  // enough for the field "format" and white space around it

// Returns whether a listed manifest.json describes something other than a partitioning: the outputs of a run, one kind
// of output, a checkpoint or saved tensors. Reads only its beginning, because the first field is "format". Returns
// false for a file without that field, which may be the damaged manifest of a partitioning.
Result<bool> IsOtherManifest(storage::ObjectStore& store, const storage::ObjectInfo& manifest) {
  if (manifest.size_bytes == 0) return false;
  const storage::ByteRange beginning{.offset = 0, .length = std::min(manifest.size_bytes, kBytesOfTheFormat)};
  ASSIGN_OR_RETURN(std::string text, store.GetRange(manifest.key, beginning));
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; });
  const std::string field = R"({"format":")";
  return text.starts_with(field) && !text.starts_with(field + format::kPartitionFormatName + '"');
}

// Returns the names of the folders directly below `prefix` that contain the manifest of a partitioning.
Result<std::vector<std::string>> KeysBelow(storage::ObjectStore& store, const std::string& prefix) {
  const std::string below = storage::FolderPrefix(prefix);
  ASSIGN_OR_RETURN(const std::vector<storage::ObjectInfo> objects, store.List(below));
  std::vector<std::string> keys;
  for (const storage::ObjectInfo& object : objects) {
    const std::string rest = object.key.substr(below.size());
    const size_t slash = rest.find('/');
    if (slash == std::string::npos || rest.substr(slash + 1) != kManifest) continue;
    ASSIGN_OR_RETURN(const bool is_of_something_else, IsOtherManifest(store, object));
    if (!is_of_something_else) keys.push_back(rest.substr(0, slash));
  }
  return keys;
}

// Returns NotFound. The folder of a run that is unfinished or has failed contains partitions but no outputs; the
// message then names the folder of the partitions.
Status NoPartitioningError(storage::ObjectStore& store, const std::string& prefix, const std::string& uri) {
  const Result<std::vector<std::string>> of_run = KeysBelow(store, storage::JoinKey(prefix, "partitions"));
  if (of_run.ok() && !of_run->empty()) {
    return NotFound(uri + " contains no outputs of a successful run; partitions are in " + uri + "/partitions");
  }
  return NotFound(uri + " contains no partitioning: neither it nor a folder in it has a partitioning's manifest.json");
}

// Returns InvalidArgument with the URIs of all partitionings.
Status SeveralPartitioningsError(const std::string& uri, const std::vector<std::string>& keys) {
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
    if (keys.empty()) return NoPartitioningError(*place.store, place.prefix, uri);
    if (keys.size() > 1) return SeveralPartitioningsError(uri, keys);
    place.prefix = storage::JoinKey(place.prefix, keys[0]);
    place.uri += "/" + keys[0];
  }
  ASSIGN_OR_RETURN(place.manifest, format::ReadManifest(*place.store, place.prefix));
  return place;
}

}  // namespace espalier::cli
