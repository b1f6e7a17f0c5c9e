// Writes a run's checkpoints: rank 0's. The training thread copies its state in memory; a thread beside it uploads
// the copy, commits, and prunes what is no longer needed. Learnable rows, which may be larger than memory, begin to be
// uploaded while they are copied, and the copying waits where the upload is behind. One upload at a time: where the one
// before has not ended when the next is due, the next is delayed until the first step after it has (but for
// rows, training never waits for an upload, except at its end).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "services/base/mutex.h"
#include "services/format/checkpoint_catalog.h"
#include "services/storage/open_store.h"
#include "services/trainer/checkpoint/checkpoint_intake.h"
#include "services/trainer/checkpoint/checkpoint_metrics.h"
#include "services/trainer/checkpoint/checkpoint_report.h"
#include "services/trainer/checkpoint/checkpoint_state.h"
#include "services/trainer/checkpoint/checkpoint_trigger.h"

namespace espalier::trainer {

// All of one process's checkpoints.
struct CheckpointSummary {
  uint64_t num_written = 0, num_failed = 0;
  uint64_t size_bytes = 0;
  double snapshot_seconds = 0, upload_seconds = 0;
  std::string newest;  // folder of the newest committed one; empty: none
};

struct CheckpointWriterOptions {
  storage::StoreLocation to;  // the folder of checkpoints
  job::Checkpoint when;
  CheckpointFacts facts;
  std::optional<format::CheckpointId> loaded;  // one of those there that this process has read, checksums and all
  CheckpointMetrics metrics;
  std::function<void(const CheckpointReport&)> on_checkpoint;  // may be empty; called by the thread that uploads
  size_t most_bytes_of_rows = size_t{256} << 20;               // of learnable rows in memory
};

// Its functions are called by one thread.
class CheckpointWriter final : public SnapshotSink {
 public:
  explicit CheckpointWriter(CheckpointWriterOptions options);
  // Waits for the upload under way, which the store's own retries bound.
  ~CheckpointWriter() override;

  bool WantsAfter(const StepsDone& done) override;
  bool WaitForSnapshotSlot(Deadline deadline) override;
  Result<bool> TakeRows(uint32_t epoch, uint32_t next_step, const format::Safetensors& piece,
                        Deadline deadline) override;
  bool WantsEnd() const override { return trigger_.HasAny(); }
  // A checkpoint that cannot be written is logged as a warning and counted.
  void Save(LoopSnapshot snapshot) override;
  void CannotSave(const Status& why) override;
  // Whoever was asked to stop has little time: older checkpoints are not read any more, and stay where that is needed
  // to remove them.
  void Expedite() override { expedited_ = true; }
  Status SaveLast(LoopSnapshot snapshot) override;

  // Waits for the upload under way. What happened so far.
  CheckpointSummary Finish();

 private:
  // Gives up what was begun and not handed over, and waits for the upload under way.
  void Wait();
  // The thread that uploads what intake_ is given. ResourceExhausted: there is none.
  Status Begin(uint32_t epoch, uint32_t next_step);
  Status HandOver(LoopSnapshot snapshot);
  // The snapshot's memory is free when older checkpoints are looked at. nullopt: the checkpoint was given up.
  std::optional<CheckpointReport> Upload(CheckpointIntake& intake, const format::CheckpointId& id);
  // Until the intake gives no more; `write` stays nullopt where the checkpoint is there already.
  Status WriteRows(CheckpointIntake& intake, const format::CheckpointId& id,
                   std::optional<format::CheckpointWrite>* write);
  // Everything else. Returns what is there then.
  Result<format::CheckpointManifest> WriteRest(const LoopSnapshot& snapshot,
                                               std::optional<format::CheckpointWrite>& write);
  // nullopt: the checkpoint is there already.
  Result<std::optional<format::CheckpointWrite>> Open(const CheckpointIntake& intake, const format::CheckpointId& id);
  void Prune(const format::CheckpointId& own);
  void Record(const CheckpointReport& report, uint64_t global_step);

  const CheckpointWriterOptions options_;
  CheckpointMetrics metrics_;
  CheckpointTrigger trigger_;
  bool is_delayed_ = false;                         // and was logged as such
  CheckpointSummary summary_;                       // of the thread that uploads while it runs, else of the caller
  format::CheckpointVerdicts verdicts_;             // likewise
  std::optional<CheckpointReport> last_report_;     // likewise
  std::shared_ptr<CheckpointIntake> being_filled_;  // null: nothing was begun, or it was handed over
  Mutex mutex_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // the uploading thread has a checkpoint
  std::atomic<bool> expedited_{false};         // atomic, because the uploading thread looks at it between reads
  std::thread uploading_;
};

}  // namespace espalier::trainer
