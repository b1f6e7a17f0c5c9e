// Where a run goes on: rank 0 looks for a checkpoint, all ranks agree on it and get it from rank 0.
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
  kAuto,   // from the newest good checkpoint of this run, else from `resume_from`, else from the start
  kNever,  // from the start; FailedPrecondition where this incarnation has written checkpoints already
};

struct ResumeOptions {
  storage::StoreLocation checkpoints;  // the run's own; without a store: none
  ResumeMode mode = ResumeMode::kAuto;
  storage::StoreLocation resume_from;  // a checkpoint or a folder of them; without a store: none
  CheckpointFacts facts;
  Timeouts timeouts;
};

struct ResumePoint {
  std::string from;  // the checkpoint, for people
  LoopSnapshot snapshot;
  NextPiece next_rows;                         // its learnable rows: rank 0's, others must not call it
  std::optional<format::CheckpointId> loaded;  // of the run's own checkpoints, the one that this rank read: rank 0's
};

// none: from the start. Every rank calls it and gets the same, but that learnable rows are rank 0's alone. Rank 0 alone
// reads the store, rows twice: for their checksums, and where they are wanted. It logs checkpoints that it had to pass
// over, and what differs from the run that wrote the one chosen. Errors: FailedPrecondition where the checkpoint is of
// another job (CheckFits), NotFound where `resume_from` holds nothing that loads, the store's own.
Result<std::optional<ResumePoint>> FindResumePoint(const ResumeOptions& options, collective::Collective& collective);

}  // namespace espalier::trainer
