// One checkpoint on its way from the training thread to the one that uploads: learnable rows piece by piece, then the
// rest. Rows of a large graph pass through little memory so; those of a small one are all taken in at once, and
// training goes on while they are uploaded.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "services/base/mutex.h"
#include "services/format/safetensors.h"
#include "services/trainer/checkpoint/loop_snapshot.h"

namespace espalier::trainer {

// Thread-safe.
class CheckpointIntake {
 public:
  // Holds so many bytes of rows, the piece that is being uploaded included, and at least one piece.
  explicit CheckpointIntake(size_t most_bytes) : most_bytes_(most_bytes) {}

  // False: there was no room until the deadline. The error of Fail.
  Result<bool> Give(const format::Safetensors& piece, Deadline deadline);
  // The last call of the training thread. nullopt: the checkpoint is given up.
  void End(std::optional<LoopSnapshot> snapshot);

  // Waits for a piece; nullopt once all were taken and End was called. The piece before has left memory by now.
  std::optional<format::Safetensors> NextPiece();
  // Nobody needs the rest of the rows: Give says why. NextPiece and End are called all the same.
  void Fail(Status why);
  // Whether End was called without a snapshot.
  bool IsGivenUp() const;
  // After NextPiece has given nothing: what End brought.
  std::optional<LoopSnapshot> TakeSnapshot();

 private:
  void Clear() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_bytes_;
  mutable Mutex mutex_;
  std::deque<format::Safetensors> pieces_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of pieces_ and of the one under way
  size_t bytes_under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  Status failed_ ABSL_GUARDED_BY(mutex_);
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_given_up_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<LoopSnapshot> snapshot_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace espalier::trainer
