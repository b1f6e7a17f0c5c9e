// A bounded queue that passes one checkpoint from the training thread to the uploading thread: learnable rows piece by
// piece, then the snapshot. Rows of a large graph pass through it with little memory. Rows of a small graph fit into it
// completely, so that training continues while they are uploaded.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "services/base/mutex.h"
#include "services/format/files/safetensors.h"
#include "services/trainer/checkpoint/loop_snapshot.h"

namespace espalier::trainer {

// Thread-safe.
class CheckpointIntake {
 public:
  // The queue holds at most `max_bytes` of rows, including the piece that is being uploaded, but always at least one
  // piece.
  explicit CheckpointIntake(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Appends a piece. Returns false if the deadline passes before there is room, or the error passed to Fail.
  Result<bool> Give(const format::Safetensors& piece, Deadline deadline);
  // Ends the checkpoint; the last call of the training thread. nullopt abandons the checkpoint.
  void End(std::optional<LoopSnapshot> snapshot);

  // Waits for the next piece; nullopt after the last one, once End was called. The caller must have freed the previous
  // piece, whose bytes no longer count.
  std::optional<format::Safetensors> NextPiece();
  // Discards the remaining rows and makes Give return `why`. The threads must still call NextPiece and End.
  void Fail(Status why);
  // Returns true if End was called without a snapshot.
  bool IsGivenUp() const;
  // Returns the snapshot passed to End, after NextPiece has returned nullopt.
  std::optional<LoopSnapshot> TakeSnapshot();

 private:
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_bytes_;
  mutable Mutex mutex_;
  std::deque<format::Safetensors> pieces_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of pieces_ and of the piece being uploaded
  size_t bytes_under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  Status failed_ ABSL_GUARDED_BY(mutex_);
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_given_up_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<LoopSnapshot> snapshot_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::trainer
