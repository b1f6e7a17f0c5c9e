// Finds the point at which a run resumes: rank 0 chooses and loads a checkpoint and sends it to the other ranks.
#pragma once

#include <optional>
#include <string>

#include "services/collective/collective.h"
#include "services/storage/open_store.h"
#include "services/trainer/checkpoint/checkpoint_state.h"
#include "services/trainer/data/graph_access.h"
#include "services/trainer/data/learnable_rows.h"

namespace espalier::trainer {

enum class ResumeMode {
  kAuto,   // resumes from the run's newest checkpoint that loads; without one, from `resume_from` if set
  kNever,  // starts anew; FailedPrecondition if this incarnation has written checkpoints
};

struct ResumeOptions {
  storage::StoreLocation checkpoints;  // the run's own checkpoints; null store: none
  ResumeMode mode = ResumeMode::kAuto;
  storage::StoreLocation resume_from;  // a checkpoint or a folder of checkpoints; null store: none
  CheckpointFacts facts;
  Timeouts timeouts;
};

struct ResumePoint {
  std::string from;  // location of the checkpoint, for messages
  LoopSnapshot snapshot;
  NextPiece next_rows;                         // reads the checkpoint's learnable rows; set on rank 0 only
  std::optional<format::CheckpointId> loaded;  // the checkpoint, if it is one of the run's own; set on rank 0 only
};

// Returns the point at which the run resumes; nullopt: at the start. Every rank must call it and gets the same
// snapshot. Only rank 0 reads the store. It reads learnable rows twice: once to verify checksums, and once when
// next_rows is called. Rank 0 logs checkpoints that do not load, and differences to the run that wrote the chosen
// checkpoint (DescribeChanges). FailedPrecondition if the checkpoint does not fit the run (CheckFits). If nothing at
// `resume_from` loads: NotFound for a folder of checkpoints; for a single checkpoint, the error of loading it, for
// example DataLoss. Also errors of the store.
Result<std::optional<ResumePoint>> FindResumePoint(const ResumeOptions& options, collective::Collective& collective);

}  // namespace espalier::trainer
