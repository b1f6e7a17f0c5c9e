// A trainer's view of learnable rows, wherever they lie (DGL's DistEmbedding): created once, read at a version, and
// changed by the gradients of each step. partition_embeddings.h says the protocol.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "services/sampler/access/partition_access.h"
#include "services/sampler/access/partition_embeddings.h"
#include "services/sampler/routing/partitioned_tensors.h"

namespace espalier::sampler {

// Whose gradients of which step.
struct StepOfTrainer {
  uint64_t step = 0;  // counted over the run, from 0
  Rank rank;
  double learning_rate = 0;
};

// Learnable rows at a version: what is to be kept of them. Their state can be read as long as a trainer that has
// reached the version sends no gradients.
struct EmbeddingAt {
  EmbeddingSpec spec;
  uint64_t version = 0;
};

// Thread-safe.
class EmbeddingStore {
 public:
  virtual ~EmbeddingStore() = default;

  // InvalidArgument: the row space or a row does not exist; ResourceExhausted: 2^32 rows or more. Asks no server.
  virtual Status CheckRows(const EmbeddingSpec& spec, std::span<const GlobalRowId> rows) const = 0;
  // On all partitions, at spec.first_version. The same again is fine. Ends when all have answered: what some have made
  // after an error of others can be dropped then.
  virtual Status CreateEmbedding(const EmbeddingSpec& spec, Deadline deadline) = 0;
  // [rows.size(), width] of the specification's dtype; waits for the version. Repetitions are allowed.
  virtual Result<Tensor> ReadEmbedding(const EmbeddingSpec& spec, uint64_t version, std::span<const GlobalRowId> rows,
                                       Deadline deadline) = 0;
  // gradients: F32 [rows.size(), width], taken over. Every partition is told, those without rows too. Returns at once;
  // `done` is called, on any thread, when all have acknowledged, or with the first error.
  virtual void PushGradients(const EmbeddingSpec& spec, const StepOfTrainer& step, std::span<const GlobalRowId> rows,
                             const Tensor& gradients, Deadline deadline, DoneStatus done) = 0;
  virtual Status DropEmbedding(const TensorId& embedding, Deadline deadline) = 0;

  // F32 [rows.size(), StateRowWidth] as it is now. For a trainer that has read the same rows and has not sent its
  // gradients since: then it is of their version. Nothing is asked where StateRowWidth is 0.
  virtual Result<Tensor> ReadState(const EmbeddingSpec& spec, std::span<const GlobalRowId> rows, Deadline deadline) = 0;
  // Values of distinct rows, as ReadEmbedding gives them, and their state, before the first step.
  virtual Status Restore(const EmbeddingSpec& spec, std::span<const GlobalRowId> rows, const Tensor& values,
                         const Tensor& state, Deadline deadline) = 0;
};

// Values and state of learnable rows as somebody has kept them, for rows that go on from there. Owned by one thread.
class KeptRows {
 public:
  virtual ~KeptRows() = default;

  virtual uint64_t version() const = 0;  // steps that are in them
  // FailedPrecondition where they are no rows of this specification: other rows, type, width or optimiser.
  virtual Status CheckFits(const EmbeddingSpec& spec) const = 0;
  // Writes the next of them, a bounded number of bytes, to rows of `spec`, which it fits, which exist at version() and
  // have taken no step. False: these were the last; what follows begins with the first again, as after an error.
  virtual Result<bool> RestoreSome(EmbeddingStore& store, const EmbeddingSpec& spec, Deadline deadline) = 0;
};

// Over the partitions of a graph.
class PartitionedEmbeddings final : public EmbeddingStore {
 public:
  // Both outlive this, and the book every answer. `tensors`: of the same partitions.
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
