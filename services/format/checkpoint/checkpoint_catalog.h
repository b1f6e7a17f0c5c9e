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
  kIncomplete,  // no manifest: a write or removal is in progress or was interrupted
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

// Takes the code of an error from reading a checkpoint. Returns true if the stored content is corrupt, and false if the
// store could not be read.
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
  std::vector<SkippedCheckpoint> skipped;  // corrupt ones that are newer than `loaded`, newest first, to be reported
};

// Loads the newest valid checkpoint of an incarnation <= `up_to_incarnation`, with all checksums verified. Ignores
// incomplete checkpoints and adds corrupt ones to `skipped`. If a checkpoint is removed after it was listed, lists the
// checkpoints again, up to six times in total within about three seconds. Returns Unavailable if a checkpoint in the
// sixth list is removed as well and no other one loads. Returns errors of the store.
Result<NewestCheckpoint> LoadNewestCheckpoint(storage::ObjectStore& store, const std::string& prefix,
                                              uint64_t up_to_incarnation);

// The folder of one checkpoint, or a folder of checkpoints.
struct CheckpointPlace {
  bool is_checkpoint = false;  // `prefix` is the folder of one checkpoint
  std::string prefix;          // key prefix in the store
};
// Finds the checkpoints at a URI of the user. `prefix` is the URI's key prefix: the folder of one checkpoint, a folder
// of checkpoints, or a folder that contains checkpoints/. Returns NotFound if it is an incomplete checkpoint or none
// of these three.
Result<CheckpointPlace> FindCheckpoints(storage::ObjectStore& store, const std::string& prefix);

// Returns the manifest of the checkpoint at `prefix` (as for FindCheckpoints), or of the newest complete checkpoint if
// `prefix` is a folder of checkpoints. Returns NotFound if there is no such checkpoint.
Result<CheckpointManifest> ReadNamedCheckpoint(storage::ObjectStore& store, const std::string& prefix);

// Results of earlier reads or writes of whole checkpoints: OK, or the reason why the checkpoint is corrupt.
using CheckpointVerdicts = std::map<CheckpointId, Status>;

struct PrunedCheckpoints {
  std::vector<std::string> removed;        // folders
  std::vector<SkippedCheckpoint> corrupt;  // kept checkpoints that the call found to be corrupt, to be reported
};

// Removes old checkpoints after the caller has committed the checkpoint `own`; returns FailedPrecondition if `own` is
// not complete. Of the complete checkpoints up to `own`, keeps the newest `keep` (at least 1) and the one with the best
// metric, and removes the rest. Also removes incomplete checkpoints older than `own`. Corrupt checkpoints are kept for
// diagnosis and do not count towards `keep`. Checkpoints newer than `own` are not touched. The manifest of a checkpoint
// is removed before its files, so that a crash leaves an incomplete checkpoint. Failpoint before each removal:
// checkpoint.prune.
//
// Before this function removes a complete checkpoint, it verifies the checksums of the complete checkpoints that it
// keeps, except `own` and those with an entry in `verdicts`, and adds the results to `verdicts`. `may_read`, unless
// empty, is called before each block of this verification; if it returns false, nothing is removed, and a later call
// with the same `verdicts` continues the verification.
Result<PrunedCheckpoints> PruneCheckpoints(storage::ObjectStore& store, const std::string& prefix,
                                           const CheckpointId& own, uint64_t keep, CheckpointVerdicts& verdicts,
                                           const std::function<bool()>& may_read = {});

// Removes the manifest of a checkpoint, then all other objects in its folder.
Status RemoveCheckpoint(storage::ObjectStore& store, const std::string& folder);

}  // namespace espalier::format
