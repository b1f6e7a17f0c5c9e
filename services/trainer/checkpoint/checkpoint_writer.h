// Writes a run's checkpoints, on rank 0 only. The training thread copies its state in memory; a background thread
// uploads the copy, commits it, and prunes old checkpoints. Learnable rows, which may be larger than memory, are
// uploaded while they are copied, and copying waits when the upload falls behind.
//
// Each checkpoint has its own background thread; only one runs at a time. If it is still uploading or pruning when the
// next checkpoint is due, that checkpoint is delayed until the first step after the thread has finished. Training waits
// for an upload only while learnable rows are copied, after an error in copying the state, and at the end of training.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "services/base/mutex.h"
#include "services/format/checkpoint/checkpoint_catalog.h"
#include "services/storage/open_store.h"
#include "services/trainer/checkpoint/checkpoint_intake.h"
#include "services/trainer/checkpoint/checkpoint_metrics.h"
#include "services/trainer/checkpoint/checkpoint_report.h"
#include "services/trainer/checkpoint/checkpoint_state.h"
#include "services/trainer/checkpoint/checkpoint_trigger.h"

namespace espalier::trainer {

// Totals over all checkpoints of one process.
struct CheckpointSummary {
  uint64_t num_written = 0, num_failed = 0;
  uint64_t size_bytes = 0;
  double snapshot_seconds = 0, upload_seconds = 0;
  std::string newest;  // folder of the newest committed checkpoint; empty: none
};

struct CheckpointWriterOptions {
  storage::StoreLocation to;  // the folder of checkpoints
  job::Checkpoint settings;
  CheckpointFacts facts;
  std::optional<format::CheckpointId> loaded;  // a checkpoint in `to` that this process has read and verified
  CheckpointMetrics metrics;
  std::function<void(const CheckpointReport&)> on_checkpoint;  // may be empty; called on the uploading thread
  size_t max_bytes_of_rows = size_t{256} << 20;                // limit for the rows in CheckpointIntake
};

// All functions must be called by one thread. The overrides are documented in SnapshotSink.
class CheckpointWriter final : public SnapshotSink {
 public:
  explicit CheckpointWriter(CheckpointWriterOptions options);
  // Waits for the running upload, whose duration is bounded by the store's retries.
  ~CheckpointWriter() override;

  bool WantsAfter(const StepsDone& done) override;
  bool WaitForSnapshotSlot(Deadline deadline) override;
  Result<bool> TakeRows(uint32_t epoch, uint32_t next_step, const format::Safetensors& piece,
                        Deadline deadline) override;
  bool WantsEnd() const override { return trigger_.HasInterval(); }
  // If the checkpoint cannot be written, logs a warning and counts the failure.
  void Save(LoopSnapshot snapshot) override;
  void CannotSave(const Status& why) override;
  // Ends the verification of the checkpoints that pruning would keep, which precedes pruning. If this verification is
  // not complete, no checkpoint is removed.
  void Expedite() override { expedited_ = true; }
  Status SaveLast(LoopSnapshot snapshot) override;

  // Waits for the running upload and returns the totals.
  CheckpointSummary Finish();

 private:
  // Abandons the checkpoint of open_intake_, if there is one, and waits for the running upload.
  void JoinUpload();
  // Makes open_intake_ and starts the thread that uploads from it. ResourceExhausted if no thread can be created.
  Status Begin(uint32_t epoch, uint32_t next_step);
  // Passes the snapshot to the uploading thread, which completes the checkpoint.
  Status HandOver(LoopSnapshot snapshot);
  // Uploads and commits one checkpoint, frees the snapshot, then prunes older checkpoints. Returns nullopt if the
  // checkpoint was abandoned. Runs on the uploading thread.
  std::optional<CheckpointReport> Upload(CheckpointIntake& intake, const format::CheckpointId& id);
  // Opens `write` and uploads the pieces of the intake until its end. Leaves `write` empty, and skips the pieces, if
  // the checkpoint exists already and is intact.
  Status WriteRows(CheckpointIntake& intake, const format::CheckpointId& id,
                   std::optional<format::CheckpointWrite>* write);
  // Uploads the remaining files and commits. Returns the manifest that is in the store afterwards.
  Result<format::CheckpointManifest> WriteRest(const LoopSnapshot& snapshot,
                                               std::optional<format::CheckpointWrite>& write);
  // Begins the upload. Returns nullopt if the checkpoint exists already and is intact; replaces it if it is corrupt.
  Result<std::optional<format::CheckpointWrite>> OpenWrite(const CheckpointIntake& intake,
                                                           const format::CheckpointId& id);
  // Removes old checkpoints after `own` was committed (format::PruneCheckpoints). Logs errors.
  void Prune(const format::CheckpointId& own);
  // Adds the report to the totals, the metrics and the log, and passes it to on_checkpoint.
  void Record(const CheckpointReport& report, uint64_t global_step);

  const CheckpointWriterOptions options_;
  CheckpointMetrics metrics_;
  CheckpointTrigger trigger_;
  bool is_delayed_ = false;                        // the due checkpoint is delayed; logged and counted once
  CheckpointSummary summary_;                      // owned by the uploading thread while it runs, else by the caller
  format::CheckpointVerdicts verdicts_;            // same owner as summary_
  std::optional<CheckpointReport> last_report_;    // same owner as summary_
  std::shared_ptr<CheckpointIntake> open_intake_;  // of the checkpoint that was begun but not handed over; may be null
  Mutex mutex_;
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // the uploading thread is working on a checkpoint
  std::atomic<bool> expedited_{false};         // atomic, because the uploading thread reads it
  std::thread uploading_;
};

}  // namespace espalier::trainer
