// Lists the checkpoints below one prefix, finds the newest one that loads, and prunes old ones.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/format/checkpoint/checkpoint.h"

namespace espalier::format {

enum class CheckpointState {
  kComplete,    // the manifest is valid, and all files that it lists exist with the listed sizes
  kIncomplete,  // no manifest: a write that is in progress or was interrupted
  kCorrupt,     // the manifest is invalid, or a file is missing or has another size
};

struct CheckpointListing {
  CheckpointId id;
  std::string folder;  // key prefix in the store
  CheckpointState state = CheckpointState::kIncomplete;
  Status problem;                      // kCorrupt: why; OK otherwise
  CheckpointManifest manifest;         // set if kComplete
  uint64_t stored_bytes = 0;           // of all objects in the folder
  bool was_removed_meanwhile = false;  // kIncomplete: the manifest was listed, but removed before it could be read
};

// Returns true if an error that was returned for reading a checkpoint means that its stored content is corrupt, and
// false if it means that the store could not be read.
bool IsCheckpointCorruption(StatusCode code);

// Returns all checkpoints directly below `prefix`, oldest first. Reads manifests, but verifies no checksums. Ignores
// other objects.
Result<std::vector<CheckpointListing>> ListCheckpoints(storage::ObjectStore& store, const std::string& prefix);

struct SkippedCheckpoint {
  std::string folder;
  Status why;
};
struct NewestCheckpoint {
  std::optional<LoadedCheckpoint> loaded;  // nullopt: no checkpoint loads
  std::vector<SkippedCheckpoint> skipped;  // newer checkpoints that do not load, newest first; the caller reports them
};

// Loads the newest valid checkpoint of an incarnation <= `up_to_incarnation`, with all checksums verified. Ignores
// incomplete checkpoints and adds corrupt ones to `skipped`. If a checkpoint is removed after it was listed, lists
// again, up to a total of six lists in about three seconds; returns Unavailable if no checkpoint could be loaded in
// this time. Returns errors of the store.
Result<NewestCheckpoint> NewestGood(storage::ObjectStore& store, const std::string& prefix, uint64_t up_to_incarnation);

// What the URI of a user denotes: the folder of one checkpoint, a folder of checkpoints, or a folder that contains
// checkpoints/.
struct CheckpointPlace {
  bool is_one = false;
  std::string prefix;  // of the checkpoint, or of the folder of checkpoints
};
// Finds the checkpoints that `prefix` denotes. Returns NotFound if it denotes none of the three.
Result<CheckpointPlace> FindCheckpoints(storage::ObjectStore& store, const std::string& prefix);

// Returns the manifest of the checkpoint that `prefix` denotes. If it denotes a folder of checkpoints, returns the
// manifest of the newest complete one. Returns NotFound if there is none.
Result<CheckpointManifest> ReadNamedCheckpoint(storage::ObjectStore& store, const std::string& prefix);

// Results of earlier reads or writes of whole checkpoints: OK, or the reason why the checkpoint is corrupt.
using CheckpointVerdicts = std::map<CheckpointId, Status>;

struct PrunedCheckpoints {
  std::vector<std::string> removed;        // folders
  std::vector<SkippedCheckpoint> corrupt;  // checkpoints that this call found to be corrupt; the caller reports them
};

// Removes old checkpoints after `own` has been committed; returns FailedPrecondition if `own` is not complete.
// Considers the checkpoints up to `own`. Keeps the newest `keep` complete ones (at least 1) and the complete one with
// the best metric; removes the other complete ones and the incomplete ones older than `own`. Corrupt checkpoints are
// kept for diagnosis and do not count towards `keep`. Checkpoints newer than `own` are not touched. The manifest of a
// checkpoint is removed before its files, so that a crash leaves an incomplete checkpoint. Failpoint before each
// removal: checkpoint.prune.
//
// Before it removes a complete checkpoint, this function verifies the checksums of those that it keeps, except those
// that have an entry in `verdicts`, and adds the results to `verdicts`. `may_read`, unless empty, is called before each
// block of this verification; if it returns false, nothing is removed, and a later call continues.
Result<PrunedCheckpoints> PruneCheckpoints(storage::ObjectStore& store, const std::string& prefix,
                                           const CheckpointId& own, uint64_t keep, CheckpointVerdicts& verdicts,
                                           const std::function<bool()>& may_read = {});

// Removes the manifest of a checkpoint, then all other objects in its folder.
Status RemoveCheckpoint(storage::ObjectStore& store, const std::string& folder);

}  // namespace espalier::format
