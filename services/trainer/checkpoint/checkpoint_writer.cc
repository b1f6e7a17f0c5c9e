#include "services/trainer/checkpoint/checkpoint_writer.h"

#include <chrono>
#include <system_error>

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

}  // namespace

CheckpointWriter::CheckpointWriter(CheckpointWriterOptions options)
    : options_(std::move(options)), metrics_(options_.metrics), trigger_(options_.when) {
  if (options_.loaded.has_value()) verdicts_[*options_.loaded] = Status();
  if (trigger_.HasAny()) metrics_.safe_since.Set(static_cast<double>(UnixSeconds()));
}

CheckpointWriter::~CheckpointWriter() {
  in_a_hurry_ = true;
  Wait();
}

void CheckpointWriter::Wait() {
  if (uploading_.joinable()) uploading_.join();
}

bool CheckpointWriter::WantsAfter(const StepsDone& done) {
  if (!trigger_.IsDueAfter(done)) return false;
  if (AwaitRoom(Deadline::After(std::chrono::nanoseconds(0)))) return true;
  if (!std::exchange(is_delayed_, true)) {
    metrics_.delayed.Add();
    Log(Level::kWarning, "checkpoint delayed: the one before is still being written, or older ones read",
        {{"epoch", done.epoch}, {"steps", done.global_steps}});
  }
  return false;
}

bool CheckpointWriter::AwaitRoom(Deadline deadline) {
  MutexLock lock(&mutex_);
  return mutex_.AwaitBefore(deadline, [this] { return !busy_; });
}

void CheckpointWriter::Save(LoopSnapshot snapshot) {
  trigger_.Taken();
  is_delayed_ = false;
  Wait();  // for nothing, except at the end of training
  {
    MutexLock lock(&mutex_);
    busy_ = true;
  }
  const auto upload = [this](LoopSnapshot& taken) {
    const CheckpointReport report = Upload(std::move(taken));
    if (!report.status.ok()) {
      Log(Level::kWarning, "checkpoint not written, training goes on",
          {{"checkpoint", report.folder}, {"error", report.status}});
    }
    MutexLock lock(&mutex_);
    busy_ = false;
  };
  try {
    uploading_ = std::thread([upload, snapshot = std::move(snapshot)]() mutable { upload(snapshot); });
  } catch (const std::system_error& error) {
    {
      MutexLock lock(&mutex_);
      busy_ = false;
    }
    CannotSave(ResourceExhausted(std::string("no thread: ") + error.what()));
  }
}

void CheckpointWriter::CannotSave(const Status& why) {
  trigger_.Taken();
  is_delayed_ = false;
  Wait();  // for nothing, except at the end of training
  ++summary_.num_failed;
  metrics_.failed.Add();
  Log(Level::kWarning, "checkpoint not taken, training goes on", {{"error", why}});
}

Status CheckpointWriter::SaveLast(LoopSnapshot snapshot) {
  Hurry();
  Wait();
  const CheckpointReport report = Upload(std::move(snapshot));
  return report.status.While("writing the last checkpoint, " + report.folder);
}

CheckpointSummary CheckpointWriter::Finish() {
  Wait();
  return summary_;
}

CheckpointReport CheckpointWriter::Upload(LoopSnapshot snapshot) {
  const Timer timer;
  const format::CheckpointId id = ManifestOf(snapshot, options_.facts).id;
  CheckpointReport report;
  report.folder = format::CheckpointFolderName(id);
  report.epoch = snapshot.epoch;
  report.next_step = snapshot.next_step;
  report.snapshot_seconds = snapshot.seconds;
  try {
    const Result<format::CheckpointManifest> written = Write(snapshot);
    report.status = written.status();
    if (written.ok()) report.size_bytes = written->size_bytes();
  } catch (const std::exception& error) {  // out of memory
    report.status = ResourceExhausted(error.what());
  }
  report.upload_seconds = timer.Seconds();
  snapshot = LoopSnapshot();
  Record(report, id.global_step);
  if (report.status.ok()) Prune(id);
  return report;
}

Result<format::CheckpointManifest> CheckpointWriter::Write(const LoopSnapshot& snapshot) {
  RETURN_IF_ERROR(Failpoint("checkpoint.snapshot"));
  format::CheckpointManifest manifest = ManifestOf(snapshot, options_.facts);
  manifest.created_unix_seconds = UnixSeconds();
  const auto& [store, prefix] = options_.to;
  const format::CheckpointFiles files = FilesOf(snapshot);
  Result<format::CheckpointManifest> written = format::WriteCheckpoint(*store, prefix, manifest, files);
  if (written.ok() || written.status().code() != StatusCode::kAlreadyExists) return written;
  // This incarnation was here before and went back: to what it could read. The same steps give the same state, so a
  // good one stays; a bad one is what it went back from.
  const std::string folder = storage::JoinKey(prefix, format::CheckpointFolderName(manifest.id));
  const Status standing = format::VerifyCheckpoint(*store, folder);
  if (standing.ok()) return format::ReadCheckpointManifest(*store, folder);
  if (!format::IsOfTheCheckpoint(standing.code())) return standing;
  Log(Level::kWarning, "replacing a corrupt checkpoint", {{"checkpoint", folder}});
  RETURN_IF_ERROR(format::RemoveCheckpoint(*store, folder));
  return format::WriteCheckpoint(*store, prefix, std::move(manifest), files);
}

void CheckpointWriter::Prune(const format::CheckpointId& own) {
  const auto keep = static_cast<uint64_t>(std::max<int64_t>(options_.when.keep, 1));
  const auto pruned = format::PruneCheckpoints(*options_.to.store, options_.to.prefix, own, keep, verdicts_,
                                               [this] { return !in_a_hurry_.load(); });
  if (!pruned.ok()) {
    Log(Level::kWarning, "old checkpoints not removed; the next one tries again", {{"error", pruned.status()}});
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
    metrics_.safe_since.Set(static_cast<double>(UnixSeconds()));
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
  }
  if (options_.on_checkpoint) options_.on_checkpoint(report);
}

}  // namespace espalier::trainer
