// A partitioning exists once its manifest exists. Files that no manifest can name are deleted: those of a failed
// attempt of a single process, and those of every attempt except the winner.
#include "services/partitioner/partition_attempt.h"

#include <map>
#include <random>
#include <vector>

#include "services/base/hash.h"
#include "services/format/partition/partition_files.h"
#include "services/storage/object_key.h"
#include "services/telemetry/log.h"

namespace espalier::partitioner {
namespace {

using telemetry::Level;
using telemetry::Log;

using SizesByKey = std::map<std::string, uint64_t>;

Status CheckFile(const storage::ObjectStore& store, const std::string& prefix, const SizesByKey& sizes,
                 const format::FileEntry& file) {
  if (file.key.empty()) return Status();
  const std::string key = storage::JoinKey(prefix, file.key);
  const auto found = sizes.find(key);
  if (found != sizes.end() && found->second == file.size_bytes) return Status();
  return DataLoss(store.Describe() + ": the partitioning's file " + key + " is " +
                  (found == sizes.end()
                       ? "missing"
                       : std::to_string(found->second) + " bytes long, expected " + std::to_string(file.size_bytes)) +
                  "; delete " + storage::JoinKey(prefix, "manifest.json") + " to partition the graph again");
}

// Deletes every object whose key starts with `start`. If `spared` is not empty, keeps objects whose key starts with it.
// Errors are only logged: without a manifest that names them, the files are never read.
void DeleteBelow(storage::ObjectStore& store, const std::string& start, const std::string& spared) {
  const Result<std::vector<storage::ObjectInfo>> objects = store.List(start);
  const bool has_no_bucket = objects.status().code() == StatusCode::kFailedPrecondition &&
                             objects.status().message().find("NoSuchBucket") != std::string::npos;
  if (has_no_bucket) return;  // there are no files
  if (!objects.ok()) {
    Log(Level::kWarning, "files of an attempt were not deleted", {{"start", start}, {"error", objects.status()}});
    return;
  }
  std::vector<std::string> keys;
  for (const storage::ObjectInfo& object : *objects) {
    if (spared.empty() || !object.key.starts_with(spared)) keys.push_back(object.key);
  }
  if (keys.empty()) return;
  const Status deleted = store.DeleteMany(keys);
  if (!deleted.ok()) Log(Level::kWarning, "files of an attempt were not deleted", {{"error", deleted}});
}

}  // namespace

Result<std::optional<format::Manifest>> FindPartitioning(storage::ObjectStore& store, const std::string& prefix) {
  // Only NotFound from this lookup means that there is no partitioning. All later errors are returned.
  const Result<storage::ObjectInfo> head = store.Head(storage::JoinKey(prefix, "manifest.json"));
  if (!head.ok() && head.status().code() == StatusCode::kNotFound) return std::optional<format::Manifest>();
  if (!head.ok()) return head.status();
  ASSIGN_OR_RETURN(format::Manifest manifest, format::ReadManifest(store, prefix));
  // One listing replaces a request for each of thousands of files.
  ASSIGN_OR_RETURN(const std::vector<storage::ObjectInfo> objects, store.List(storage::FolderPrefix(prefix)));
  SizesByKey sizes;
  for (const storage::ObjectInfo& object : objects) sizes[object.key] = object.size_bytes;
  for (const format::PartitionEntry& partition : manifest.partitions) {
    for (const format::FileEntry* file : partition.files()) {
      RETURN_IF_ERROR(CheckFile(store, prefix, sizes, *file));
    }
  }
  return std::optional<format::Manifest>(std::move(manifest));
}

std::string NewAttemptName() {
  // Not derived from the seed, because names must be unique and results do not depend on them.
  std::random_device random;
  return "attempt-" + ToHex((uint64_t{random()} << 32) | random());
}

AttemptFiles::AttemptFiles(storage::ObjectStore& store, std::string prefix, std::string attempt)
    : store_(store), prefix_(std::move(prefix)), attempt_(std::move(attempt)) {}

AttemptFiles::~AttemptFiles() {
  if (!keep_) DeleteBelow(store_, storage::JoinKey(prefix_, attempt_) + "/", "");
}

void DeleteLeftovers(storage::ObjectStore& store, const std::string& start) { DeleteBelow(store, start, ""); }

void DeleteOtherAttempts(storage::ObjectStore& store, const std::string& prefix, const std::string& winner) {
  DeleteBelow(store, storage::JoinKey(prefix, "attempt-"), storage::JoinKey(prefix, winner) + "/");
}

}  // namespace espalier::partitioner
