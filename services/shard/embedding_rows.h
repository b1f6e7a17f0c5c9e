// The learnable rows of one tensor on their owner: takes the trainers' gradients, applies each step once, and answers
// reads of a version (sampler/access/partition_embeddings.h says the protocol).
//
// Rows and optimiser state are two mutable tensors, so that whoever can read, copy or restore tensors can do so with
// them. The tensors belong to MutableTensors alone: where they are dropped, by name or by a newer incarnation, their
// memory is free, and every later question is NotFound.
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
  // Both tensors hold their first values; `state` is null where the optimiser keeps none (StateRowWidth 0).
  // `budgets`: of gradients that have been taken and not yet applied. ResourceExhausted: VersionWaits::Open.
  static Result<std::shared_ptr<EmbeddingRows>> Make(sampler::EmbeddingSpec spec, std::shared_ptr<TensorRows> rows,
                                                     std::shared_ptr<TensorRows> state,
                                                     std::shared_ptr<VersionWaits> waits, StepBudgets budgets);
  // Who waits for them is told Unavailable.
  ~EmbeddingRows();
  EmbeddingRows(const EmbeddingRows&) = delete;
  EmbeddingRows& operator=(const EmbeddingRows&) = delete;

  const sampler::EmbeddingSpec& spec() const { return spec_; }
  uint64_t version() const ABSL_LOCKS_EXCLUDED(mutex_);

  // As PartitionEmbeddings. A step is applied on the thread that brings its last piece.
  void Push(sampler::GradientPiece piece, Deadline deadline, sampler::DoneStatus done) ABSL_LOCKS_EXCLUDED(mutex_);
  void Read(uint64_t version, std::span<const LocalRowId> rows, const sampler::RowSink& sink, Deadline deadline,
            sampler::DoneStatus done);

 private:
  EmbeddingRows(sampler::EmbeddingSpec spec, std::shared_ptr<TensorRows> rows, std::shared_ptr<TensorRows> state,
                std::shared_ptr<VersionWaits> waits, uint64_t number_in_waits, StepBudgets budgets);

  // A piece's step, now that the piece is in it.
  enum class StepIs {
    kIncompleteOrApplied,
    kAwaitsOthers,  // the trainer, whose pieces are all there, is a step ahead of others
    kComplete,      // another thread applies it, or has one before it to apply
    kToBeApplied    // by this thread
  };

  Status CheckPiece(const sampler::GradientPiece& piece) const;
  Result<StepIs> Take(sampler::GradientPiece piece) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns whether the next step is complete too.
  bool ApplyStep() ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a step that cannot be applied any more.
  void GiveUp() ABSL_LOCKS_EXCLUDED(mutex_);
  Status Gather(uint64_t version, std::span<const LocalRowId> rows, const sampler::RowSink& sink)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // For one question; `state` is null where there is none. NotFound where they have been dropped.
  struct Tensors {
    std::shared_ptr<TensorRows> rows, state;
  };
  Result<Tensors> Hold() const;
  LearnableTable MakeTable(std::byte* rows, std::byte* state) const;

  const sampler::EmbeddingSpec spec_;
  const StepBudgets budgets_;
  const std::weak_ptr<TensorRows> rows_, state_;
  const uint64_t num_rows_;
  const bool has_state_;

  mutable Mutex mutex_;
  uint64_t version_ ABSL_GUARDED_BY(mutex_);
  // A thread applies `current_`, which is complete and no longer changes; rows may be of the next version already.
  bool is_applying_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<StepGradients> current_ ABSL_GUARDED_BY(mutex_);  // of step version_
  std::unique_ptr<StepGradients> next_ ABSL_GUARDED_BY(mutex_);     // of trainers that are a step ahead
  SparseStep step_;                                                 // of the thread that applies
  const std::shared_ptr<VersionWaits> waits_;
  const uint64_t number_in_waits_;
};

// First values of state rows [count, StateRowWidth], from those of the rows [count, width].
void FillState(const sampler::EmbeddingSpec& spec, const std::byte* rows, uint64_t count, float* state);

}  // namespace espalier::shard
