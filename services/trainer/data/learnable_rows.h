// The learnable input rows of a run (spec.training.inputs[].embedding). Each step reads rows from their owners at the
// step's version, appends them to the features, and sends back the gradients that autograd computes.
// sampler/access/partition_embeddings.h describes how trainers and owners agree on versions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/collective/collective.h"
#include "services/format/files/safetensors.h"
#include "services/sampler/access/seed_source.h"
#include "services/sampler/routing/embedding_store.h"
#include "services/trainer/data/batch_tensors.h"
#include "services/trainer/data/graph_access.h"
#include "services/trainer/optim/optimizers.h"
#include "services/trainer/optim/schedules.h"

namespace espalier::trainer {

// A piece of a checkpoint, about 16 MiB: "rows.TYPE" [n, width], consecutive rows of a node type by original id, and
// "state.TYPE" f32 [n, state] if the rows have optimizer state. Pieces are in ascending order of type and original id.
//
// TakePiece stores one piece and returns true. Returns false if there is no room yet; the caller retries with the same
// piece.
using TakePiece = std::function<Result<bool>(const format::Safetensors& piece)>;
// Returns the next piece, in the same order; nullopt after the last piece. The caller must check the content.
using NextPiece = std::function<Result<std::optional<format::Safetensors>>()>;

// One rank's access to the learnable rows. Every rank must call the same functions in the same order, except accessors,
// Read, Join and JoinNothing. Owned by one thread.
class LearnableRows {
 public:
  // `book`, `store` and `seeds` outlive this. `on_progress` may be empty; rank 0 calls it in Save and CreateAt after
  // each piece, also if TakePiece had no room for the piece.
  LearnableRows(const job::Training& training, const graph::PartitionBook& book, sampler::EmbeddingStore& store,
                sampler::SeedSource& seeds, Rank rank, uint32_t num_trainers, const Timeouts& timeouts,
                std::function<void()> on_progress = {});

  bool empty() const { return tables_.empty(); }
  // Returns the number of values per row; 0 if the type has no learnable rows.
  int64_t width(NodeTypeId type) const;

  // Creates the rows with their initial values on all owners. Rank 0 sends the requests, one node type at a time.
  Status Create(collective::Collective& collective);
  // Creates the rows at a version and restores their values and state from a checkpoint. `next` is called on rank 0
  // only, which writes the rows to their owners piece by piece while the other ranks wait. InvalidArgument on all ranks
  // if the pieces do not fit the job's learnable rows.
  Status CreateAt(uint64_t version, const NextPiece& next, collective::Collective& collective);
  // Waits until the rows have version(), then copies rows and optimizer state, piece by piece, for a checkpoint. `take`
  // is called on rank 0 only, which holds one piece in memory, while the other ranks wait. The rows cannot change
  // meanwhile, because the next version needs the gradients of this trainer. An error is returned on all ranks.
  Status Save(const TakePiece& take, collective::Collective& collective) const;
  // Returns the SHA-256 digest of rows and state at version(), 64 hexadecimal digits, the same on every rank. The rows
  // are in the order of original ids, so equal rows have the same digest under every partitioning and number of
  // trainers. Reads all rows once, each rank its share of the pieces.
  Result<std::string> Digest(collective::Collective& collective) const;
  // Returns the version of the rows that Read returns: the number of steps whose gradients were sent.
  uint64_t version() const { return version_; }

  // Returns the rows at version(), f32 [nodes, width(type)].
  Result<torch::Tensor> Read(NodeTypeId type, std::span<const GlobalNodeId> nodes, Deadline deadline) const;
  // Reads the rows of a mini-batch's nodes, sets batch->learnable to them as autograd leaves, and appends them to
  // batch->features.
  Status Join(BatchTensors* batch, Deadline deadline) const;
  // Does the same for an EmptyBatch, without reading rows.
  void JoinNothing(BatchTensors* batch) const;

  // Sends the gradients of batch.learnable for step version(), or a message without gradients if there are none, and
  // increments version(). Waits only for the acknowledgements of the previous step. `run` is for the learning rate
  // schedule.
  Status Push(const BatchTensors& batch, const RunLength& run);
  // Drops the rows on their owners; rank 0 sends the requests. No rank may read rows afterwards.
  Status Drop(Deadline deadline);
  // Blocks until the owners have acknowledged all gradients that were sent.
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
  // Turns NotFound into Unavailable: a restarted server has lost the rows, so the run must restart as a new
  // incarnation, which creates them again.
  static Status NotFoundToUnavailable(Status status);
  static std::vector<GlobalRowId> ToRowIds(std::span<const GlobalNodeId> nodes);
  static int64_t RowsPerPiece(const Table& table);
  int64_t NumRows(const Table& table) const;
  // Returns the row ids of the original ids [first, first + count).
  Result<std::vector<GlobalRowId>> FindRows(const Table& table, int64_t first, int64_t count, Deadline deadline) const;
  struct RowsAndState {
    Tensor values, state;  // [n, width], f32 [n, state]
  };
  // Returns the piece that begins with the original id `first`, at version().
  Result<RowsAndState> ReadPiece(const Table& table, int64_t first) const;
  Result<std::string> ComputePieceDigest(const Table& table, int64_t first) const;  // SHA-256, 64 hexadecimal digits
  // If the piece has rows of the table's type, writes them to the rows from original id `*restored` on and adds their
  // number to `*restored`.
  Status RestorePiece(const Table& table, const format::Safetensors& piece, int64_t* restored) const;
  // Returns InvalidArgument unless `restored` is the number of rows of the table.
  Status CheckComplete(const Table& table, int64_t restored) const;
  // Runs `step` on rank 0 as collective::WorkInSteps does, and calls on_progress_ there after each step.
  Status RunInSteps(const std::function<Result<bool>()>& step, collective::Collective& collective) const;

  const graph::PartitionBook& book_;
  sampler::EmbeddingStore& store_;
  sampler::SeedSource& seeds_;
  const Rank rank_;
  const Timeouts timeouts_;
  const std::function<void()> on_progress_;
  std::vector<Table> tables_;  // ascending type
  uint64_t version_ = 0;
  std::shared_ptr<Acknowledgements> pending_;  // of the last Push; null: none is outstanding
};

// Concatenates the columns of two f32 tensors with equal numbers of rows, on the device of `features`. If `features`
// has no columns, returns `rows` itself. `rows` may have no columns either.
torch::Tensor ConcatenateColumns(const torch::Tensor& features, const torch::Tensor& rows);

}  // namespace espalier::trainer
