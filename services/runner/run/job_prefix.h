// What lies below a job's prefix (its output.uri) from runs before, in a folder or in a bucket: checkpoints, results
// and the outputs' manifest.
#pragma once

#include <string>
#include <vector>

#include "services/format/checkpoint_catalog.h"
#include "services/storage/open_store.h"

namespace espalier::run {

struct EarlierRun {
  uint64_t newest_incarnation = 0;                     // that wrote anything there; 0: none
  std::vector<format::CheckpointListing> checkpoints;  // whatever their state, oldest first
  // By the incarnation of the newest checkpoint or a later one: nothing is left to go on with.
  bool outputs_committed = false;
  std::string job_name;                  // of the committed outputs, as their result says it; empty without
  std::vector<std::string> result_keys;  // of incarnations; other objects there are somebody else's

  // The newest complete one; null without.
  const format::CheckpointListing* NewestCheckpoint() const;
  size_t num_complete() const;
};

// FailedPrecondition where manifest.json is not one of a run's outputs.
Result<EarlierRun> FindEarlierRun(const storage::StoreLocation& prefix);
// Deletes all that was found. Killed on the way, it leaves no checkpoint and no manifest whose files are gone.
Status ForgetEarlierRun(const storage::StoreLocation& prefix, const EarlierRun& earlier);

// "epoch 12, step 3", where a run would go on; "the beginning" without a checkpoint.
std::string PositionText(const EarlierRun& earlier);
// Of a place that a document names to go on from: a checkpoint, or a folder whose newest complete one it is. NotFound
// where there is none.
Result<std::string> DescribePosition(const storage::StoreLocation& named);
// The same of what lies there now, for people: an error is said in words.
std::string NewestPositionText(const storage::StoreLocation& prefix);
std::string UnknownPositionText(const Status& why);

}  // namespace espalier::run
