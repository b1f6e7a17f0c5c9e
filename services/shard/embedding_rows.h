// The learnable rows of one embedding on their owner: receives the trainers' gradients, applies each step once, and
// answers reads of a version (the protocol is described in sampler/access/partition_embeddings.h).
//
// The rows, and the optimizer's state if it has one, are mutable tensors, so they can be read, copied and restored like
// any tensor. MutableTensors owns them: once they are dropped, by name or by a newer incarnation, their memory is freed
// and every later request fails: Push with NotFound, Read with NotFound or an error of VersionWaits::Await.
#pragma once

#include <memory>
#include <string>

#include "services/base/mutex.h"
#include "services/sampler/access/partition_embeddings.h"
#include "services/shard/step_gradients.h"
#include "services/shard/tensor_rows.h"
#include "services/shard/version_waits.h"

namespace espalier::shard {

// Thread-safe.
class EmbeddingRows {
 public:
  // Returns learnable rows at version spec.first_version. `rows` and `state` have their initial values; `state` is null
  // if StateRowWidth is 0. `budgets` limits the gradients that are received and not yet applied. Returns the error of
  // VersionWaits::Open (ResourceExhausted: the thread of `waits` cannot be started).
  static Result<std::shared_ptr<EmbeddingRows>> Make(sampler::EmbeddingSpec spec, std::shared_ptr<TensorRows> rows,
                                                     std::shared_ptr<TensorRows> state,
                                                     std::shared_ptr<VersionWaits> waits, StepBudgets budgets);
  // Ends waiting requests with Unavailable.
  ~EmbeddingRows();
  EmbeddingRows(const EmbeddingRows&) = delete;
  EmbeddingRows& operator=(const EmbeddingRows&) = delete;

  const sampler::EmbeddingSpec& spec() const { return spec_; }
  uint64_t version() const ABSL_LOCKS_EXCLUDED(mutex_);

  // See Push and Read of PartitionEmbeddings. A step is applied on the thread that delivers its last piece or, if that
  // piece arrives before the previous step has been applied, on the thread that applies the previous step.
  void Push(sampler::GradientPiece piece, Deadline deadline, sampler::DoneStatus done) ABSL_LOCKS_EXCLUDED(mutex_);
  void Read(uint64_t version, std::span<const LocalRowId> rows, const sampler::RowSink& sink, Deadline deadline,
            sampler::DoneStatus done);

 private:
  EmbeddingRows(sampler::EmbeddingSpec spec, std::shared_ptr<TensorRows> rows, std::shared_ptr<TensorRows> state,
                std::shared_ptr<VersionWaits> waits, uint64_t id_in_waits, StepBudgets budgets);

  // The state of a piece's step after the piece was added.
  enum class StepState {
    kIncompleteOrApplied,  // pieces are missing, or the step has been applied before
    kAwaitsOthers,         // the trainer has sent all its pieces, and is one step ahead of other trainers
    kComplete,             // another thread applies it, possibly after the previous step
    kToBeApplied           // this thread must apply it
  };

  Status CheckPiece(const sampler::GradientPiece& piece) const;
  // Adds the piece to its step.
  Result<StepState> AddPiece(sampler::GradientPiece piece) ABSL_LOCKS_EXCLUDED(mutex_);
  // Applies the current step. Returns whether the next step is complete too.
  bool ApplyStep() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends a step that can no longer be applied, because the tensors were dropped.
  void GiveUp() ABSL_LOCKS_EXCLUDED(mutex_);
  Status Gather(uint64_t version, std::span<const LocalRowId> rows, const sampler::RowSink& sink)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The tensors, kept alive during one request; `state` is null if there is none. HoldTensors returns NotFound if they
  // have been dropped.
  struct Tensors {
    std::shared_ptr<TensorRows> rows, state;
  };
  Result<Tensors> HoldTensors() const;
  LearnableTable MakeTable(std::byte* rows, std::byte* state) const;

  const sampler::EmbeddingSpec spec_;
  const StepBudgets budgets_;
  const std::weak_ptr<TensorRows> rows_, state_;
  const uint64_t num_rows_;
  const bool has_state_;

  mutable Mutex mutex_;
  uint64_t version_ ABSL_GUARDED_BY(mutex_);
  // True while a thread applies `current_`, which is complete and does not change. Meanwhile some rows may already
  // belong to the next version.
  bool is_applying_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<StepGradients> current_ ABSL_GUARDED_BY(mutex_);  // of step version_
  std::unique_ptr<StepGradients> next_ ABSL_GUARDED_BY(mutex_);     // of trainers that are one step ahead
  SparseStep step_;                                                 // only for the thread that applies a step
  const std::shared_ptr<VersionWaits> waits_;
  const uint64_t id_in_waits_;  // of these rows (VersionWaits::Open)
};

// Writes the initial state [count, StateRowWidth] of learnable rows [count, width] of dtype spec.dtype.
void FillState(const sampler::EmbeddingSpec& spec, const std::byte* rows, uint64_t count, float* state);

}  // namespace espalier::shard
