// A trainer's view of learnable rows, independent of where they are stored (DGL's DistEmbedding): created once, read at
// a version, and updated with the gradients of each step. partition_embeddings.h describes the protocol.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "services/sampler/access/partition_access.h"
#include "services/sampler/access/partition_embeddings.h"
#include "services/sampler/routing/partitioned_tensors.h"

namespace espalier::sampler {

// The step and the trainer to which gradients belong.
struct StepOfTrainer {
  uint64_t step = 0;  // counted over the run, from 0
  Rank rank;
  double learning_rate = 0;
};

// Learnable rows at a version, to be checkpointed. Rows and state can be read at this version until the last trainer
// has sent its gradients for step `version`.
struct EmbeddingAt {
  EmbeddingSpec spec;
  uint64_t version = 0;
};

// Thread-safe.
class EmbeddingStore {
 public:
  virtual ~EmbeddingStore() = default;

  // Checks rows without calling a server. InvalidArgument: the row space or a row does not exist; ResourceExhausted:
  // 2^32 rows or more.
  virtual Status CheckRows(const EmbeddingSpec& spec, std::span<const GlobalRowId> rows) const = 0;
  // Creates the rows on all partitions, at spec.first_version. Succeeds if the same rows exist. Returns after all
  // partitions have responded, so that rows created in spite of an error elsewhere can be dropped.
  virtual Status CreateEmbedding(const EmbeddingSpec& spec, Deadline deadline) = 0;
  // Returns [rows.size(), width] of the specification's dtype; waits for the version. Rows may be repeated.
  virtual Result<Tensor> ReadEmbedding(const EmbeddingSpec& spec, uint64_t version, std::span<const GlobalRowId> rows,
                                       Deadline deadline) = 0;
  // Sends gradients, F32 [rows.size(), width], to every partition, including partitions that own none of the rows.
  // Returns at once; `done` is called, on any thread, after all partitions have acknowledged or with the first error.
  virtual void PushGradients(const EmbeddingSpec& spec, const StepOfTrainer& step, std::span<const GlobalRowId> rows,
                             const Tensor& gradients, Deadline deadline, DoneStatus done) = 0;
  // Drops the rows and their state on all partitions. Succeeds if they do not exist.
  virtual Status DropEmbedding(const TensorId& embedding, Deadline deadline) = 0;

  // Returns the current state, F32 [rows.size(), StateRowWidth]. If the calling trainer has sent no gradients since it
  // read a version, this is the state of that version. No server is called if StateRowWidth is 0.
  virtual Result<Tensor> ReadState(const EmbeddingSpec& spec, std::span<const GlobalRowId> rows, Deadline deadline) = 0;
  // Writes the values of distinct rows, in the form that ReadEmbedding returns, and their state. Must be called before
  // the first step.
  virtual Status Restore(const EmbeddingSpec& spec, std::span<const GlobalRowId> rows, const Tensor& values,
                         const Tensor& state, Deadline deadline) = 0;
};

// Saved values and state of learnable rows, which a resumed run writes to its new rows. Owned by one thread.
class SavedLearnableRows {
 public:
  virtual ~SavedLearnableRows() = default;

  virtual uint64_t version() const = 0;  // number of steps that the saved values include
  // Returns FailedPrecondition if the rows were saved with another specification: other rows, dtype, width or
  // optimizer.
  virtual Status CheckFits(const EmbeddingSpec& spec) const = 0;
  // Writes the next saved rows, a bounded number of bytes, to the rows of `spec`. `spec` must pass CheckFits; its rows
  // must exist at version() and have taken no step. Returns true if it has written rows, and false if all rows had been
  // written before. After it has returned false or an error, the next call starts again with the first rows.
  virtual Result<bool> RestoreSome(EmbeddingStore& store, const EmbeddingSpec& spec, Deadline deadline) = 0;
};

// Implements EmbeddingStore over the partitions of a graph. Thread-safe.
class PartitionedEmbeddings final : public EmbeddingStore {
 public:
  // `tensors` has the same partitions. Both arguments must outlive this object; the partition book of `tensors` must
  // outlive every response.
  PartitionedEmbeddings(PartitionedTensors& tensors, const std::vector<std::shared_ptr<PartitionAccess>>& partitions);

  Status CheckRows(const EmbeddingSpec& spec, std::span<const GlobalRowId> rows) const override;
  Status CreateEmbedding(const EmbeddingSpec& spec, Deadline deadline) override;
  Result<Tensor> ReadEmbedding(const EmbeddingSpec& spec, uint64_t version, std::span<const GlobalRowId> rows,
                               Deadline deadline) override;
  void PushGradients(const EmbeddingSpec& spec, const StepOfTrainer& step, std::span<const GlobalRowId> rows,
                     const Tensor& gradients, Deadline deadline, DoneStatus done) override;
  Status DropEmbedding(const TensorId& embedding, Deadline deadline) override;
  Result<Tensor> ReadState(const EmbeddingSpec& spec, std::span<const GlobalRowId> rows, Deadline deadline) override;
  Status Restore(const EmbeddingSpec& spec, std::span<const GlobalRowId> rows, const Tensor& values,
                 const Tensor& state, Deadline deadline) override;

 private:
  PartitionedTensors& tensors_;
  const graph::PartitionBook& book_;
  const std::vector<std::shared_ptr<PartitionAccess>>& partitions_;
};

}  // namespace espalier::sampler
