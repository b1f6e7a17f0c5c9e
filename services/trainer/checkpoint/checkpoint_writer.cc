// Each checkpoint has its own thread and its own CheckpointIntake: Begin starts the thread, TakeRows passes pieces of
// learnable rows, and HandOver ends the intake with the snapshot. Upload writes pieces as they arrive, then the other
// files, then the manifest, which commits the checkpoint, and finally prunes older checkpoints. busy_ is true until the
// thread is done; summary_, verdicts_ and last_report_ belong to the thread until it is joined. If the upload fails,
// the thread still drains the intake, so that the training thread does not block in TakeRows.
#include "services/trainer/checkpoint/checkpoint_writer.h"

#include <chrono>
#include <functional>
#include <utility>

#include "services/base/failpoint.h"
#include "services/storage/object_key.h"
#include "services/telemetry/log.h"

namespace espalier::trainer {
namespace {

using telemetry::Level;
using telemetry::Log;

uint64_t UnixSeconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
}

// Returns the status of `work`, or ResourceExhausted if it throws an exception, such as std::bad_alloc.
Status CatchExceptions(const std::function<Status()>& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return ResourceExhausted(error.what());
  }
}

}  // namespace

CheckpointWriter::CheckpointWriter(CheckpointWriterOptions options)
    : options_(std::move(options)), metrics_(options_.metrics), trigger_(options_.settings) {
  if (options_.loaded.has_value()) verdicts_[*options_.loaded] = Status();
  if (trigger_.HasInterval()) metrics_.last_timestamp.Set(static_cast<double>(UnixSeconds()));
}

CheckpointWriter::~CheckpointWriter() {
  expedited_ = true;
  JoinUpload();
}

void CheckpointWriter::JoinUpload() {
  if (open_intake_ != nullptr) std::exchange(open_intake_, nullptr)->End(std::nullopt);
  if (uploading_.joinable()) uploading_.join();
}

bool CheckpointWriter::WantsAfter(const StepsDone& done) {
  if (!trigger_.IsDueAfter(done)) return false;
  if (WaitForSnapshotSlot(Deadline::After(std::chrono::nanoseconds(0)))) return true;
  if (!std::exchange(is_delayed_, true)) {
    metrics_.delayed.Add();
    Log(Level::kWarning,
        "checkpoint delayed: the previous one is still being written, or older ones are being verified",
        {{"epoch", done.epoch}, {"steps", done.global_steps}});
  }
  return false;
}

bool CheckpointWriter::WaitForSnapshotSlot(Deadline deadline) {
  MutexLock lock(&mutex_);
  return mutex_.AwaitBefore(deadline, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !busy_; });
}

Status CheckpointWriter::Begin(uint32_t epoch, uint32_t next_step) {
  JoinUpload();  // blocks only after a stop request: otherwise the caller has waited for a slot
  const format::CheckpointId id{options_.facts.incarnation,
                                uint64_t{epoch} * options_.facts.steps_per_epoch + next_step};
  const auto intake = std::make_shared<CheckpointIntake>(options_.max_bytes_of_rows);
  last_report_.reset();
  {
    MutexLock lock(&mutex_);
    busy_ = true;
  }
  const auto end = [this] {
    MutexLock lock(&mutex_);
    busy_ = false;
  };
  try {
    uploading_ = std::thread([this, intake, id, end] {
      last_report_ = Upload(*intake, id);
      end();
    });
  } catch (const std::exception& error) {  // no thread can be created, or no memory
    end();
    return ResourceExhausted(std::string("cannot start the uploading thread: ") + error.what());
  }
  open_intake_ = intake;
  return Status();
}

Status CheckpointWriter::HandOver(LoopSnapshot snapshot) {
  if (open_intake_ == nullptr) RETURN_IF_ERROR(Begin(snapshot.epoch, snapshot.next_step));
  std::exchange(open_intake_, nullptr)->End(std::move(snapshot));
  return Status();
}

Result<bool> CheckpointWriter::TakeRows(uint32_t epoch, uint32_t next_step, const format::Safetensors& piece,
                                        Deadline deadline) {
  if (open_intake_ == nullptr) RETURN_IF_ERROR(Begin(epoch, next_step));
  return open_intake_->Give(piece, deadline);
}

void CheckpointWriter::Save(LoopSnapshot snapshot) {
  trigger_.Reset();
  is_delayed_ = false;
  if (const Status handed = HandOver(std::move(snapshot)); !handed.ok()) CannotSave(handed);
}

void CheckpointWriter::CannotSave(const Status& why) {
  trigger_.Reset();
  is_delayed_ = false;
  JoinUpload();  // abandons the rows taken so far
  ++summary_.num_failed;
  metrics_.failed.Add();
  Log(Level::kWarning, "checkpoint not taken", {{"error", why}});
}

Status CheckpointWriter::SaveLast(LoopSnapshot snapshot) {
  Expedite();
  RETURN_IF_ERROR(HandOver(std::move(snapshot)).While("writing the last checkpoint"));
  JoinUpload();
  return last_report_->status.While("writing the last checkpoint, " + last_report_->folder);
}

CheckpointSummary CheckpointWriter::Finish() {
  JoinUpload();
  return summary_;
}

std::optional<CheckpointReport> CheckpointWriter::Upload(CheckpointIntake& intake, const format::CheckpointId& id) {
  const Timer timer;
  std::optional<format::CheckpointWrite> write;
  CheckpointReport report;
  report.folder = format::CheckpointFolderName(id);
  report.status = CatchExceptions([&] { return WriteRows(intake, id, &write); });
  if (!report.status.ok()) intake.Fail(report.status);
  while (intake.NextPiece().has_value()) continue;  // until the training thread has called End
  std::optional<LoopSnapshot> snapshot = intake.TakeSnapshot();
  if (write.has_value() && (!snapshot.has_value() || !report.status.ok())) write->GiveUp();
  if (!snapshot.has_value()) return std::nullopt;
  report.epoch = snapshot->epoch;
  report.next_step = snapshot->next_step;
  report.snapshot_seconds = snapshot->seconds;
  if (report.status.ok()) {
    report.status = CatchExceptions([&]() -> Status {
      ASSIGN_OR_RETURN(const format::CheckpointManifest written, WriteRest(*snapshot, write));
      report.size_bytes = written.size_bytes();
      return Status();
    });
  }
  report.upload_seconds = timer.Seconds();
  snapshot.reset();
  Record(report, id.global_step);
  if (report.status.ok()) Prune(id);
  return report;
}

Result<std::optional<format::CheckpointWrite>> CheckpointWriter::OpenWrite(const CheckpointIntake& intake,
                                                                           const format::CheckpointId& id) {
  const auto& [store, prefix] = options_.to;
  Result<format::CheckpointWrite> write = format::CheckpointWrite::Begin(*store, prefix, id);
  if (write.status().code() == StatusCode::kAlreadyExists) {
    // This incarnation has written the checkpoint before and then resumed from an older one. The same steps give the
    // same state, so an intact checkpoint is kept. A corrupt one, which the resumed run could not read, is replaced.
    const std::string folder = storage::JoinKey(prefix, format::CheckpointFolderName(id));
    const Status existing = format::VerifyCheckpointBytes(*store, folder, [&] { return !intake.IsAbandoned(); });
    if (existing.ok()) return std::optional<format::CheckpointWrite>();
    if (!format::IsCheckpointCorruption(existing.code())) return existing;
    Log(Level::kWarning, "replacing a corrupt checkpoint", {{"checkpoint", folder}});
    RETURN_IF_ERROR(format::RemoveCheckpoint(*store, folder));
    write = format::CheckpointWrite::Begin(*store, prefix, id);
  }
  if (!write.ok()) return write.status();
  return std::optional(*std::move(write));
}

Status CheckpointWriter::WriteRows(CheckpointIntake& intake, const format::CheckpointId& id,
                                   std::optional<format::CheckpointWrite>* write) {
  RETURN_IF_ERROR(Failpoint("checkpoint.snapshot"));
  ASSIGN_OR_RETURN(*write, OpenWrite(intake, id));
  for (uint64_t number = 0; const auto piece = intake.NextPiece(); ++number) {
    if (write->has_value()) RETURN_IF_ERROR((*write)->Put(format::LearnablePieceKey(number), *piece));
  }
  return Status();
}

Result<format::CheckpointManifest> CheckpointWriter::WriteRest(const LoopSnapshot& snapshot,
                                                               std::optional<format::CheckpointWrite>& write) {
  format::CheckpointManifest manifest = MakeManifest(snapshot, options_.facts);
  manifest.created_unix_seconds = UnixSeconds();
  const auto& [store, prefix] = options_.to;
  const std::string folder = storage::JoinKey(prefix, format::CheckpointFolderName(manifest.id));
  if (write.has_value()) {
    for (const auto& [key, content] : ToFiles(snapshot)) {
      if (const Status put = write->Put(key, content); !put.ok()) {
        write->GiveUp();
        return put;
      }
    }
    Result<format::CheckpointManifest> written = write->Commit(std::move(manifest));
    if (written.ok() || written.status().code() != StatusCode::kAlreadyExists) return written;
    RETURN_IF_ERROR(format::VerifyCheckpoint(*store, folder));  // another process has committed it meanwhile
  }
  return format::ReadCheckpointManifest(*store, folder);
}

void CheckpointWriter::Prune(const format::CheckpointId& own) {
  const auto keep = static_cast<uint64_t>(std::max<int64_t>(options_.settings.keep, 1));
  const auto pruned = format::PruneCheckpoints(*options_.to.store, options_.to.prefix, own, keep, verdicts_,
                                               [this] { return !expedited_.load(); });
  if (!pruned.ok()) {
    Log(Level::kWarning, "old checkpoints not removed; the removal is retried after the next checkpoint",
        {{"error", pruned.status()}});
    return;
  }
  for (const format::SkippedCheckpoint& corrupt : pruned->corrupt) {
    Log(Level::kError, "a checkpoint is corrupt; an older one is kept in its place",
        {{"checkpoint", corrupt.folder}, {"error", corrupt.why}});
  }
}

void CheckpointWriter::Record(const CheckpointReport& report, uint64_t global_step) {
  summary_.snapshot_seconds += report.snapshot_seconds;
  summary_.upload_seconds += report.upload_seconds;
  metrics_.snapshot_seconds.Add(report.snapshot_seconds);
  metrics_.upload_seconds.Add(report.upload_seconds);
  if (report.status.ok()) {
    ++summary_.num_written;
    summary_.size_bytes += report.size_bytes;
    summary_.newest = report.folder;
    metrics_.written.Add();
    metrics_.bytes.Add(static_cast<double>(report.size_bytes));
    metrics_.last_step.Set(static_cast<double>(global_step));
    metrics_.last_timestamp.Set(static_cast<double>(UnixSeconds()));
    Log(Level::kInfo, "checkpoint",
        {{"checkpoint", report.folder},
         {"epoch", report.epoch},
         {"next_step", report.next_step},
         {"bytes", report.size_bytes},
         {"snapshot_seconds", report.snapshot_seconds},
         {"upload_seconds", report.upload_seconds}});
  } else {
    ++summary_.num_failed;
    metrics_.failed.Add();
    Log(Level::kWarning, "checkpoint not written", {{"checkpoint", report.folder}, {"error", report.status}});
  }
  if (options_.on_checkpoint) options_.on_checkpoint(report);
}

}  // namespace espalier::trainer
