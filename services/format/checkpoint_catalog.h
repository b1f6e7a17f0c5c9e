// The checkpoints below one prefix: which there are, which is the newest that loads, which may go.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/format/checkpoint.h"

namespace espalier::format {

enum class CheckpointState {
  kComplete,    // its manifest reads, and all files that it names are there in their sizes
  kIncomplete,  // no manifest: a write under way, or one that never ended
  kCorrupt,     // a manifest that does not read, or files that are missing or of another size
};

struct CheckpointListing {
  CheckpointId id;
  std::string folder;  // key prefix in the store
  CheckpointState state = CheckpointState::kIncomplete;
  Status problem;                      // of a corrupt one
  CheckpointManifest manifest;         // of a complete one
  uint64_t stored_bytes = 0;           // of all objects in its folder
  bool was_removed_meanwhile = false;  // an incomplete one, whose manifest was listed and then not there to be read
};

// Whether an error of reading a checkpoint is about what is stored (it is corrupt), rather than about reaching it.
bool IsOfTheCheckpoint(StatusCode code);

// All checkpoints right below `prefix`, oldest first. Checksums are not looked at. Other objects are ignored.
Result<std::vector<CheckpointListing>> ListCheckpoints(storage::ObjectStore& store, const std::string& prefix);

struct SkippedCheckpoint {
  std::string folder;
  Status why;
};
struct NewestCheckpoint {
  std::optional<LoadedCheckpoint> loaded;  // none: nothing good is there
  std::vector<SkippedCheckpoint> skipped;  // newer ones that do not load, newest first: the caller says so, loudly
};

// The newest checkpoint of an incarnation <= `up_to_incarnation` that loads with all checksums right. Incomplete ones
// are passed over in silence, corrupt ones end up in `skipped`. Lists anew, for some seconds, where one is removed
// before it is read; Unavailable where nothing else is there then. An error of the store itself is returned.
Result<NewestCheckpoint> NewestGood(storage::ObjectStore& store, const std::string& prefix, uint64_t up_to_incarnation);

// What a user's URI means: a checkpoint's own folder, a folder of checkpoints, or a folder with checkpoints/ in it.
struct CheckpointPlace {
  bool is_one = false;
  std::string prefix;  // of the checkpoint, or of the folder of checkpoints
};
// NotFound where there is none of the three.
Result<CheckpointPlace> FindCheckpoints(storage::ObjectStore& store, const std::string& prefix);

// The manifest of the checkpoint that such a URI means: of a folder, its newest complete one's. NotFound where there is
// none.
Result<CheckpointManifest> ReadNamedCheckpoint(storage::ObjectStore& store, const std::string& prefix);

// What is known of the bytes of checkpoints, by those who wrote or read them: OK, or why they are corrupt.
using CheckpointVerdicts = std::map<CheckpointId, Status>;

struct PrunedCheckpoints {
  std::vector<std::string> removed;        // folders
  std::vector<SkippedCheckpoint> corrupt;  // found to be so now: the caller says so, loudly
};

// After `own` was committed, its writer removes, of the checkpoints up to `own`: good ones but for the newest `keep`
// (at least 1) and the one with the best metric; incomplete ones older than `own`. Corrupt ones stay, for people to
// look at, and take no good one's place; so does everything of later incarnations. A manifest goes before its files, so
// that a crash in the middle leaves an incomplete one. Failpoint, before each removal: checkpoint.prune.
//
// Before a good one is removed, those that stay in its place are read, once for all calls with the same `verdicts`.
// While that goes on `may_read` is asked before each block: where it says no, nothing is removed, and a later call
// does it. Empty: always.
Result<PrunedCheckpoints> PruneCheckpoints(storage::ObjectStore& store, const std::string& prefix,
                                           const CheckpointId& own, uint64_t keep, CheckpointVerdicts& verdicts,
                                           const std::function<bool()>& may_read = {});

// Manifest first, then whatever else is in the folder.
Status RemoveCheckpoint(storage::ObjectStore& store, const std::string& folder);

}  // namespace espalier::format
