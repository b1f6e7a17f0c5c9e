// The learnable input rows of a run (spec.training.inputs[].embedding): read from their owners at the version of the
// step, joined to the features, and changed by what autograd finds for them. sampler/access/partition_embeddings.h says
// how trainers and owners agree on versions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/collective/collective.h"
#include "services/format/safetensors.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/routing/embedding_store.h"
#include "services/trainer/data/batch_tensors.h"
#include "services/trainer/data/graph_access.h"
#include "services/trainer/optim/optimizers.h"
#include "services/trainer/optim/schedules.h"

namespace espalier::trainer {

// A piece of what a checkpoint keeps: "rows.TYPE" [n, size], consecutive rows of a node type by original id, and, where
// its optimiser has one, "state.TYPE" f32 [n, state]. Types follow each other in ascending order. About 16 MiB.
//
// Keeps it; false: not yet, and is called with it again.
using TakePiece = std::function<Result<bool>(const format::Safetensors& piece)>;
// Pieces in that order; nothing after the last. Untrusted.
using NextPiece = std::function<Result<std::optional<format::Safetensors>>()>;

// Owned by one thread. Every rank calls the same functions in the same order.
class LearnableRows {
 public:
  // `book`, `store` and `seeds` outlive this. `on_progress` may be empty: called for each piece that is copied.
  LearnableRows(const job::Training& training, const graph::PartitionBook& book, sampler::EmbeddingStore& store,
                sampler::SeedSource& seeds, Rank rank, uint32_t num_trainers, const Timeouts& timeouts,
                std::function<void()> on_progress = {});

  bool empty() const { return tables_.empty(); }
  // By NodeTypeId; 0: the type has none.
  int64_t width(NodeTypeId type) const;

  // On every owner, with their first values: rank 0 does it, table by table.
  Status Create(collective::Collective& collective);
  // The same at a version, with what a checkpoint keeps of it. `next` is called on rank 0 alone, which writes the rows
  // to their owners, piece by piece, while the others wait for each. InvalidArgument on all ranks where they do not
  // fit.
  Status CreateAt(uint64_t version, const NextPiece& next, collective::Collective& collective);
  // What a checkpoint keeps of version(), which is waited for; nobody gets the next one meanwhile, which needs this
  // trainer's gradients. `take` is called on rank 0 alone, which has memory for one piece, while the others wait for
  // each. An error is the same on all ranks.
  Status Save(const TakePiece& take, collective::Collective& collective) const;
  // SHA-256 over rows and state of version() by node type and original id, whatever the partitioning and the number of
  // trainers: 64 hexadecimal digits, the same on every rank. Reads everything once, each rank its pieces.
  Result<std::string> Digest(collective::Collective& collective) const;
  // Steps that have been sent: the version that is read.
  uint64_t version() const { return version_; }

  // f32 [nodes, width(type)] as they are now.
  Result<torch::Tensor> Read(NodeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) const;
  // Reads the rows of a batch's nodes as leaves of autograd, and joins them to its features.
  Status Join(BatchTensors* batch, Deadline deadline) const;
  // The same for a share without nodes, of EmptyBatch.
  void JoinNothing(BatchTensors* batch) const;

  // Sends the gradients of the batch's leaves, or that there are none, for step version(), which ends with this. Waits
  // for the acknowledgements of the step before alone.
  Status Push(const BatchTensors& batch, const RunLength& run);
  // Gives the rows' memory back to their owners; rank 0 does it. Nobody reads them any more.
  Status Drop(Deadline deadline);
  // Until everything sent is acknowledged.
  Status AwaitPushes();

 private:
  struct Table {
    NodeTypeId type;
    std::string type_name;
    sampler::EmbeddingSpec spec;
    double learning_rate = 0;
    job::LearningRateSchedule schedule;
  };
  // Acknowledgements of one step.
  class Acknowledgements;

  const Table* Find(NodeTypeId type) const;
  // Rows go with the server that holds them: where they are missing, Unavailable, so that a next incarnation makes them
  // again.
  static Status RestartWhereLost(Status status);
  static std::vector<GlobalRowId> ToRowIds(std::span<const GlobalNodeId> nodes);
  static int64_t RowsPerPiece(const Table& table);
  int64_t NumRows(const Table& table) const;
  // Rows of the original ids [first, first + count).
  Result<std::vector<GlobalRowId>> RowsAt(const Table& table, int64_t first, int64_t count, Deadline deadline) const;
  struct RowsAndState {
    Tensor values, state;  // [n, size], f32 [n, state]
  };
  // The piece that begins with the original id `first`, at version().
  Result<RowsAndState> ReadAt(const Table& table, int64_t first) const;
  Result<std::string> DigestOfPiece(const Table& table, int64_t first) const;  // SHA-256, 64 digits
  // Where the piece has rows of this type: those from original id `*restored` on, to which they are added.
  Status RestorePiece(const Table& table, const format::Safetensors& piece, int64_t* restored) const;
  Status CheckWhole(const Table& table, int64_t restored) const;
  // WorkInSteps of rank 0, which tells of each as progress.
  Status InSteps(const std::function<Result<bool>()>& step, collective::Collective& collective) const;

  const graph::PartitionBook& book_;
  sampler::EmbeddingStore& store_;
  sampler::SeedSource& seeds_;
  const Rank rank_;
  const Timeouts timeouts_;
  const std::function<void()> on_progress_;
  std::vector<Table> tables_;  // ascending type
  uint64_t version_ = 0;
  std::shared_ptr<Acknowledgements> pending_;  // null: nothing was sent
};

// F32 side by side; either may have no columns.
torch::Tensor SideBySide(const torch::Tensor& features, const torch::Tensor& rows);

}  // namespace espalier::trainer
