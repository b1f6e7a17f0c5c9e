// A bounded queue that passes one checkpoint from the training thread to the uploading thread: the learnable rows in
// pieces (TakePiece in data/learnable_rows.h), then the snapshot. Learnable rows of a large graph pass through the
// queue with little memory. Those of a small graph fit into it completely, so that training continues while they are
// uploaded.
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
  // The queue holds at most `max_bytes` of rows, including the piece that is being uploaded. If it is empty, it accepts
  // a larger piece too.
  explicit CheckpointIntake(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Waits for room, appends a piece and returns true. If the deadline passes before there is room, appends nothing and
  // returns false. Returns the error passed to Fail if Fail was called.
  Result<bool> Give(const format::Safetensors& piece, Deadline deadline);
  // Ends the checkpoint; the last call of the training thread. nullopt abandons the checkpoint and discards its rows.
  void End(std::optional<LoopSnapshot> snapshot);

  // Waits for the next piece and returns it. Returns nullopt after the last piece, once End was called. The caller must
  // have freed the memory of the previous piece, because this call stops counting it towards `max_bytes`.
  std::optional<format::Safetensors> NextPiece();
  // Discards the remaining rows and makes Give return `why`. Called by the uploading thread if the upload failed. The
  // training thread must still call End, and the uploading thread NextPiece until it returns nullopt.
  void Fail(Status why);
  // Returns true if End was called without a snapshot.
  bool IsAbandoned() const;
  // Returns the snapshot passed to End. Call it once, after NextPiece has returned nullopt.
  std::optional<LoopSnapshot> TakeSnapshot();

 private:
  void DiscardPieces() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_bytes_;
  mutable Mutex mutex_;
  std::deque<format::Safetensors> pieces_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;            // of pieces_ and of the piece being uploaded
  size_t bytes_under_way_ ABSL_GUARDED_BY(mutex_) = 0;  // of the piece being uploaded
  Status failed_ ABSL_GUARDED_BY(mutex_);
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_abandoned_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<LoopSnapshot> snapshot_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::trainer
