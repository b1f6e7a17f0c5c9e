// Finds and removes what earlier runs left below a job's output.uri, in a folder or a bucket: checkpoints, results and
// the manifest of the outputs.
#pragma once

#include <string>
#include <vector>

#include "services/format/checkpoint/checkpoint_catalog.h"
#include "services/storage/open_store.h"

namespace espalier::run {

struct EarlierRun {
  uint64_t newest_incarnation = 0;                     // the newest one that wrote anything; 0: none
  std::vector<format::CheckpointListing> checkpoints;  // of any state, oldest first
  // Whether outputs are committed and no complete checkpoint has a later incarnation than the outputs. Then there is
  // nothing to resume.
  bool outputs_committed = false;
  std::string job_name;                  // from the result of the committed outputs; empty if there is none
  std::vector<std::string> result_keys;  // keys of the result files of all incarnations (results/*/)

  // Returns the newest complete checkpoint, owned by this object; null if there is none.
  const format::CheckpointListing* NewestCheckpoint() const;
  size_t num_complete() const;  // number of complete checkpoints
};

// Looks for an earlier run below `prefix`. FailedPrecondition if manifest.json is not the manifest of a run's outputs.
Result<EarlierRun> FindEarlierRun(const storage::StoreLocation& prefix);
// Deletes everything that FindEarlierRun found. Even after an interrupted call, no manifest or checkpoint refers to
// deleted files, because manifests are deleted before the files that they describe.
Status DeleteEarlierRun(const storage::StoreLocation& prefix, const EarlierRun& earlier);

// Returns the position from which a run would resume: "epoch 12, step 3", or "the beginning" without a checkpoint.
std::string PositionText(const EarlierRun& earlier);
// Returns the position of the checkpoint that a document names (checkpoint.resumeFrom). `named` is a checkpoint, or a
// folder of checkpoints, of which the newest complete one is used. NotFound if there is none.
Result<std::string> DescribePosition(const storage::StoreLocation& named);
// Returns the PositionText of the checkpoints below `prefix` now, for messages. An error becomes part of the text.
std::string NewestPositionText(const storage::StoreLocation& prefix);
// Returns "the newest checkpoint (<error>)", for a position that could not be read.
std::string UnknownPositionText(const Status& reason);

}  // namespace espalier::run
