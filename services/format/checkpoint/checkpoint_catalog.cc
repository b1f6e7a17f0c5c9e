// ListCheckpoints lists all keys below the prefix, groups them by checkpoint, and reads each manifest once. The state
// of a checkpoint follows from its manifest and the listed sizes; checksums are verified only when a checkpoint is
// loaded, or before pruning relies on it. PruneCheckpoints repeats its selection until all checkpoints that it keeps
// are verified, so that it never removes the last good checkpoint in favor of a corrupt one.
#include "services/format/checkpoint/checkpoint_catalog.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "services/base/clock.h"
#include "services/base/failpoint.h"
#include "services/format/partition/partition_names.h"
#include "services/storage/object_key.h"

namespace espalier::format {
namespace {

using storage::FolderPrefix;
using storage::JoinKey;
using storage::ObjectInfo;
using storage::ObjectStore;

// The content of the folder of a checkpoint: sizes by key relative to the folder.
using FolderContent = std::map<std::string, uint64_t>;

std::map<CheckpointId, FolderContent> GroupByCheckpoint(const std::vector<ObjectInfo>& objects, size_t prefix_size) {
  std::map<CheckpointId, FolderContent> contents;
  for (const ObjectInfo& object : objects) {
    const std::string_view rest = std::string_view(object.key).substr(prefix_size);
    const size_t slash = rest.find('/');
    if (slash == std::string_view::npos) continue;
    const std::optional<CheckpointId> id = ParseCheckpointFolderName(rest.substr(0, slash));
    if (id.has_value()) contents[*id][std::string(rest.substr(slash + 1))] = object.size_bytes;
  }
  return contents;
}

Status CheckContent(const CheckpointManifest& manifest, const CheckpointId& id, const FolderContent& content) {
  if (manifest.id != id) return DataLoss("its manifest is that of " + CheckpointFolderName(manifest.id));
  for (const FileEntry& file : manifest.files) {
    const auto found = content.find(file.key);
    if (found == content.end()) return DataLoss(file.key + " is missing");
    if (found->second == file.size_bytes) continue;
    return DataLoss(file.key + " has " + std::to_string(found->second) + " bytes, expected " +
                    std::to_string(file.size_bytes));
  }
  return Status();
}

Result<CheckpointListing> Describe(ObjectStore& store, const std::string& prefix, const CheckpointId& id,
                                   const FolderContent& content) {
  CheckpointListing listing;
  listing.id = id;
  listing.folder = JoinKey(prefix, CheckpointFolderName(id));
  for (const auto& [key, size_bytes] : content) listing.stored_bytes += size_bytes;
  if (!content.contains(kManifestKey)) return listing;
  Result<CheckpointManifest> manifest = ReadCheckpointManifest(store, listing.folder);
  if (!manifest.ok() && manifest.status().code() == StatusCode::kNotFound) {
    listing.was_removed_meanwhile = true;
    return listing;
  }
  if (!manifest.ok() && !IsCheckpointCorruption(manifest.status().code())) return manifest.status();
  listing.problem = manifest.ok() ? CheckContent(*manifest, id, content) : manifest.status();
  listing.state = listing.problem.ok() ? CheckpointState::kComplete : CheckpointState::kCorrupt;
  if (listing.problem.ok()) listing.manifest = *std::move(manifest);
  return listing;
}

bool IsBetter(const CheckpointMetric& a, const CheckpointMetric& b) {
  return a.higher_is_better ? *a.value > *b.value : *a.value < *b.value;
}

// The metric of a diverged run may be NaN, which cannot be compared.
bool HasMetric(const CheckpointMetric& metric) { return metric.value.has_value() && !std::isnan(*metric.value); }

// Returns the checkpoint with the best metric; if several have the same value, the newest of them; null if none has a
// metric.
const CheckpointListing* FindBest(const std::vector<const CheckpointListing*>& oldest_first) {
  const CheckpointListing* best = nullptr;
  for (const CheckpointListing* listing : oldest_first) {
    const CheckpointMetric& metric = listing->manifest.metric;
    // Only metrics with the same name can be compared; the newest checkpoint determines the name.
    if (!HasMetric(metric) || metric.name != oldest_first.back()->manifest.metric.name) continue;
    if (best == nullptr || !IsBetter(best->manifest.metric, metric)) best = listing;
  }
  return best;
}

// What PruneCheckpoints keeps and what it removes.
struct Selection {
  std::vector<CheckpointListing*> kept;             // complete checkpoints up to `own`
  std::vector<const CheckpointListing*> to_remove;  // complete and incomplete checkpoints before `own`, oldest first
  bool removes_complete = false;                    // `to_remove` contains a complete checkpoint
};

Selection Select(std::vector<CheckpointListing>& all, const CheckpointId& own, uint64_t keep) {
  std::vector<const CheckpointListing*> complete;
  for (const CheckpointListing& listing : all) {
    if (listing.state == CheckpointState::kComplete && listing.id <= own) complete.push_back(&listing);
  }
  std::set<CheckpointId> kept;
  if (const CheckpointListing* best = FindBest(complete); best != nullptr) kept.insert(best->id);
  const size_t num_newest = std::min<uint64_t>(std::max<uint64_t>(keep, 1), complete.size());
  for (size_t i = complete.size() - num_newest; i < complete.size(); ++i) kept.insert(complete[i]->id);

  Selection selection;
  for (CheckpointListing& listing : all) {
    const bool is_unfinished = listing.state == CheckpointState::kIncomplete && listing.id < own;
    const bool is_complete = listing.state == CheckpointState::kComplete && listing.id <= own;
    if (is_complete && kept.contains(listing.id)) {
      selection.kept.push_back(&listing);
    } else if (is_complete || is_unfinished) {
      selection.to_remove.push_back(&listing);
      selection.removes_complete |= is_complete;
    }
  }
  return selection;
}

void MarkCorrupt(CheckpointListing& listing, const Status& reason) {
  listing.state = CheckpointState::kCorrupt;
  listing.problem = reason;
}

// Verifies the checksums of the kept checkpoints, because a listing checks sizes only. Adds the results to `verdicts`,
// marks the corrupt checkpoints, and adds them to `found`. Returns Cancelled if `may_read` returns false.
Status FindCorrupt(ObjectStore& store, const Selection& selection, CheckpointVerdicts& verdicts,
                   const std::function<bool()>& may_read, std::vector<SkippedCheckpoint>& found) {
  for (CheckpointListing* listing : selection.kept) {
    if (verdicts.contains(listing->id)) continue;  // its verdict is OK: corrupt checkpoints are not in `kept`
    const Status status = VerifyCheckpointBytes(store, listing->folder, may_read);
    if (!status.ok() && !IsCheckpointCorruption(status.code())) return status;
    verdicts[listing->id] = status;
    if (status.ok()) continue;
    MarkCorrupt(*listing, status);
    found.push_back({listing->folder, status});
  }
  return Status();
}

struct NewestOfList {
  NewestCheckpoint found;
  // A checkpoint was removed between listing and reading: one newer than the loaded one, or any one if none was loaded.
  bool newer_was_removed = false;
};

Result<NewestOfList> FindNewest(ObjectStore& store, const std::string& prefix, uint64_t up_to_incarnation) {
  ASSIGN_OR_RETURN(const std::vector<CheckpointListing> listings, ListCheckpoints(store, prefix));
  NewestOfList newest;
  for (auto listing = listings.rbegin(); listing != listings.rend(); ++listing) {
    if (listing->id.incarnation > up_to_incarnation) continue;
    newest.newer_was_removed = newest.newer_was_removed || listing->was_removed_meanwhile;
    if (listing->state == CheckpointState::kIncomplete) continue;
    Status problem = listing->problem;
    if (problem.ok()) {
      Result<LoadedCheckpoint> loaded = LoadCheckpoint(store, listing->folder);
      if (loaded.ok()) {
        newest.found.loaded = *std::move(loaded);
        return newest;
      }
      if (!IsCheckpointCorruption(loaded.status().code())) return loaded.status();
      if (loaded.status().code() == StatusCode::kNotFound) {  // removed after it was listed with all files
        newest.newer_was_removed = true;
        continue;
      }
      problem = loaded.status();
    }
    newest.found.skipped.push_back({listing->folder, problem});
  }
  return newest;
}

}  // namespace

bool IsCheckpointCorruption(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
    case StatusCode::kOutOfRange:
    case StatusCode::kDataLoss: return true;
    default: return false;
  }
}

Result<std::vector<CheckpointListing>> ListCheckpoints(ObjectStore& store, const std::string& prefix) {
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, store.List(FolderPrefix(prefix)));
  std::vector<CheckpointListing> listings;
  for (const auto& [id, content] : GroupByCheckpoint(objects, FolderPrefix(prefix).size())) {
    ASSIGN_OR_RETURN(listings.emplace_back(), Describe(store, prefix, id, content));
  }
  return listings;
}

Result<NewestCheckpoint> LoadNewestCheckpoint(ObjectStore& store, const std::string& prefix,
                                              uint64_t up_to_incarnation) {
  // Another process may remove checkpoints meanwhile: a predecessor that still runs, for example behind a network
  // partition. It does so only after it has committed a newer checkpoint, so a new listing finds the newer one. Stores
  // with eventually consistent listings may also list removed objects for a while.
  constexpr int kMaxLists = 6;
  NewestOfList newest;
  for (int list = 1; list <= kMaxLists; ++list) {
    ASSIGN_OR_RETURN(newest, FindNewest(store, prefix, up_to_incarnation));
    if (!newest.newer_was_removed) return std::move(newest.found);
    if (list < kMaxLists) Clock::Real().SleepFor(std::chrono::milliseconds(50) * (1 << list));
  }
  if (newest.found.loaded.has_value()) return std::move(newest.found);
  return Unavailable("checkpoints in " + store.Describe() + "/" + prefix +
                     " are listed, but missing when they are read");
}

Result<CheckpointPlace> FindCheckpoints(ObjectStore& store, const std::string& prefix) {
  const Result<CheckpointManifest> own = ReadCheckpointManifest(store, prefix);
  if (own.ok()) return CheckpointPlace{true, prefix};
  if (!IsCheckpointCorruption(own.status().code())) return own.status();
  // checkpoints/ first, because the folder of a job may hold many other objects.
  for (const std::string& place : {JoinKey(prefix, "checkpoints"), prefix}) {
    ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, store.List(FolderPrefix(place)));
    if (!GroupByCheckpoint(objects, FolderPrefix(place).size()).empty()) return CheckpointPlace{false, place};
  }
  // A manifest exists, but it cannot be read: return that error.
  if (own.status().code() != StatusCode::kNotFound) return own.status();
  return NotFound("no checkpoints in " + store.Describe() + (prefix.empty() ? "" : "/" + prefix));
}

Result<CheckpointManifest> ReadNamedCheckpoint(ObjectStore& store, const std::string& prefix) {
  ASSIGN_OR_RETURN(const CheckpointPlace place, FindCheckpoints(store, prefix));
  if (place.is_checkpoint) return ReadCheckpointManifest(store, place.prefix);
  ASSIGN_OR_RETURN(std::vector<CheckpointListing> listings, ListCheckpoints(store, place.prefix));
  const auto newest = std::find_if(listings.rbegin(), listings.rend(),
                                   [](const CheckpointListing& c) { return c.state == CheckpointState::kComplete; });
  if (newest == listings.rend()) {
    return NotFound("no complete checkpoint in " + store.Describe() + (place.prefix.empty() ? "" : "/" + place.prefix));
  }
  return std::move(newest->manifest);
}

Status RemoveCheckpoint(ObjectStore& store, const std::string& folder) {
  RETURN_IF_ERROR(store.Delete(JoinKey(folder, kManifestKey)));
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, store.List(folder + "/"));
  std::vector<std::string> keys;
  for (const ObjectInfo& object : objects) keys.push_back(object.key);
  return store.DeleteMany(keys);
}

Result<PrunedCheckpoints> PruneCheckpoints(ObjectStore& store, const std::string& prefix, const CheckpointId& own,
                                           uint64_t keep, CheckpointVerdicts& verdicts,
                                           const std::function<bool()>& may_read) {
  ASSIGN_OR_RETURN(std::vector<CheckpointListing> listings, ListCheckpoints(store, prefix));
  const bool is_committed = std::any_of(listings.begin(), listings.end(), [&](const CheckpointListing& listing) {
    return listing.id == own && listing.state == CheckpointState::kComplete;
  });
  if (!is_committed) return FailedPrecondition("the checkpoint " + CheckpointFolderName(own) + " is not complete");
  verdicts[own] = Status();
  for (CheckpointListing& listing : listings) {
    const auto known = verdicts.find(listing.id);
    if (known != verdicts.end() && !known->second.ok()) MarkCorrupt(listing, known->second);
  }
  PrunedCheckpoints pruned;
  Selection selection = Select(listings, own, keep);
  while (selection.removes_complete) {
    const size_t num_corrupt = pruned.corrupt.size();
    const Status checked = FindCorrupt(store, selection, verdicts, may_read, pruned.corrupt);
    if (checked.code() == StatusCode::kCancelled) return pruned;
    RETURN_IF_ERROR(checked);
    if (pruned.corrupt.size() == num_corrupt) break;
    selection = Select(listings, own, keep);  // other checkpoints take the places of corrupt ones
  }
  for (const CheckpointListing* listing : selection.to_remove) {
    RETURN_IF_ERROR(Failpoint("checkpoint.prune"));
    RETURN_IF_ERROR(RemoveCheckpoint(store, listing->folder).While("removing " + listing->folder));
    pruned.removed.push_back(listing->folder);
  }
  return pruned;
}

}  // namespace espalier::format
